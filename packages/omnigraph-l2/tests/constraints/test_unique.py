"""Properties that are declared unique: no two rows ever have the same value, whoever races."""

# ruff: noqa: PT012 - a transaction ends where its block does

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph_l1 import failpoints
from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository, Transaction
from omnigraph_l2.errors import DuplicateValues, ExpectedVersionMismatch, InvalidSchema

USER = "node:User"
PROPERTIES = {"email": pa.string(), "number": pa.int64()}
PLAIN = GraphSchema(nodes=[NodeType("User", PROPERTIES)])
SCHEMA = GraphSchema(nodes=[NodeType("User", PROPERTIES, unique=["email"])])

Write = Callable[[Transaction], object]


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A repository with two users."""
    made = Repository.init(tmp_path / "repo", SCHEMA, durability="none")
    with made.transaction() as tx:
        tx.append(USER, [user("a", "a@x"), user("b", "b@x"), user("n", None)])
    return made


def user(name: str, email: str | None) -> dict[str, Any]:
    """Make a row."""
    return {"id": name, "email": email, "number": 1}


def emails(repo: Repository, branch: str = "main") -> dict[str, str | None]:
    """Read all e-mail addresses, by id."""
    rows = repo.snapshot(branch).read(USER).to_pylist()
    return {row["id"]: row["email"] for row in rows}


def staged(tx: Transaction) -> None:
    """Add a row that another process might have written."""
    tx.append_staged(USER, tx.stage(USER).write([user("c", "a@x")]))


REFUSED: dict[str, tuple[Write, tuple[str, ...], tuple[str, ...]]] = {
    "append": (lambda tx: tx.append(USER, [user("c", "a@x")]), ("a@x",), ()),
    "staged": (staged, ("a@x",), ()),
    "twice in an append": (
        lambda tx: tx.append(USER, [user("c", "c@x"), user("d", "c@x")]),
        (),
        ("c@x",),
    ),
    "upsert of another row": (lambda tx: tx.upsert(USER, [user("b", "a@x")]), ("a@x",), ()),
    "one column of an upsert": (
        lambda tx: tx.upsert(USER, [{"id": "b", "email": "a@x"}]),
        ("a@x",),
        (),
    ),
    "overwrite": (
        lambda tx: tx.overwrite(USER, [user("c", "c@x"), user("d", "c@x")]),
        (),
        ("c@x",),
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused(
    repo: Repository, case: tuple[Write, tuple[str, ...], tuple[str, ...]]
) -> None:
    """The error names table, property and values, and nothing has changed."""
    write, existing, repeated = case
    before = emails(repo)
    with pytest.raises(DuplicateValues) as raised, repo.transaction() as tx:
        write(tx)
    assert (raised.value.table_key, raised.value.property) == (USER, "email")
    assert (raised.value.existing, raised.value.repeated) == (existing, repeated)
    assert emails(repo) == before
    assert len(repo.log()) == 2


def test_the_oldest_are_shown_first(repo: Repository) -> None:
    """What is there already is told as it was written, file after file."""
    names = [f"u{number}" for number in range(9)]
    for name in names:
        with repo.transaction() as tx:
            tx.append(USER, [user(name, f"{name}@x")])
    with pytest.raises(DuplicateValues) as raised, repo.transaction() as tx:
        tx.append(USER, [user(f"again-{name}", f"{name}@x") for name in reversed(names)])
    assert raised.value.existing == tuple(f"{name}@x" for name in names)


def swapped(tx: Transaction) -> None:
    """Let two rows exchange their values."""
    tx.upsert(USER, [user("a", "b@x"), user("b", "a@x")])


def handed_on(tx: Transaction) -> None:
    """Delete a row, and give its value to another."""
    tx.delete(USER, ids=["a"])
    assert tx.read(USER).num_rows == 2
    tx.append(USER, [user("c", "a@x")])


ALLOWED: dict[str, Write] = {
    "nulls": lambda tx: tx.append(USER, [user("c", None), user("d", None)]),
    "the same row again": lambda tx: tx.upsert(USER, [user("a", "a@x")]),
    "swap": swapped,
    "delete and append": handed_on,
    "overwrite": lambda tx: tx.overwrite(USER, [user("z", "a@x")]),
    "capitals": lambda tx: tx.append(USER, [user("c", "A@x")]),
}


@pytest.mark.parametrize("write", ALLOWED.values(), ids=ALLOWED.keys())
def test_what_is_allowed(repo: Repository, write: Write) -> None:
    """What counts is the result of the whole transaction."""
    with repo.transaction() as tx:
        write(tx)
    found = [email for email in emails(repo).values() if email is not None]
    assert len(found) == len(set(found)) > 0
    assert tx.commit is not None


@pytest.mark.parametrize("moment", ["l2.table.committed", "l2.publish.planned"])
def test_two_that_bring_the_same_value(repo: Repository, impatient: None, moment: str) -> None:
    """Who comes second is told, although both had found the value free."""
    other = Repository.open(repo.uri, durability="none")

    def first(name: str) -> None:
        if name == moment and "first" not in emails(other):
            with failpoints.handling(lambda _: None), other.transaction() as tx:
                tx.append(USER, [user("first", "same@x")])

    with (
        failpoints.handling(first),
        pytest.raises(DuplicateValues, match="same@x"),
        repo.transaction() as tx,
    ):
        tx.append(USER, [user("second", "same@x")])
    assert "first" in emails(repo)
    assert "second" not in emails(repo)


def test_on_a_branch_and_in_a_run(repo: Repository) -> None:
    """They know what is unique, too; what another branch has does not matter."""
    repo.branches.create("side")
    with repo.transaction() as tx:
        tx.append(USER, [user("c", "c@x")])
    with repo.transaction("side") as tx:
        tx.append(USER, [user("d", "c@x")])
    with pytest.raises(DuplicateValues), repo.transaction("side") as tx:
        tx.append(USER, [user("e", "a@x")])
    run = repo.runs.begin()
    with pytest.raises(DuplicateValues), run.transaction() as tx:
        tx.append(USER, [user("e", "a@x")])
    with run.transaction() as tx:
        tx.append(USER, [user("e", "e@x")])
    run.publish()
    assert emails(repo)["e"] == "e@x"


VALUES = {
    "string": (pa.string(), ["", "a", "ä", "a'b"]),
    "int8": (pa.int8(), [-128, 0, 127]),
    "uint64": (pa.uint64(), [0, 2**64 - 1]),
    "date32": (pa.date32(), [date(1, 1, 1), date(2026, 1, 1)]),
    "timestamp": (
        pa.timestamp("us", tz="Europe/Vienna"),
        [datetime(2026, 1, n, tzinfo=timezone.utc) for n in (1, 2)],
    ),
    "nanoseconds": (pa.timestamp("ns"), [datetime(2026, 1, n) for n in (1, 2)]),  # noqa: DTZ001
    "decimal128": (pa.decimal128(20, 4), [Decimal("1.5"), Decimal("-1.5")]),
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("padding", [0, 5_000], ids=["few", "many"])
def test_types(tmp_path: Path, kind: str, padding: int) -> None:
    """Values of each type are compared exactly, also where there is an index."""
    type_, values = VALUES[kind]
    schema = GraphSchema(nodes=[NodeType("N", {"p": type_}, unique=["p"])])
    with Repository.init(tmp_path / "repo", schema, durability="none") as repo:
        if padding:
            with repo.transaction() as tx:
                tx.append("node:N", [{"id": f"pad{n}"} for n in range(padding)])
            assert "p_btree" in repo.optimize().tables["node:N"].indexes
        with repo.transaction() as tx:
            tx.append("node:N", [{"id": str(n), "p": value} for n, value in enumerate(values)])
        for value in values:
            with pytest.raises(DuplicateValues) as raised, repo.transaction() as tx:
                tx.append("node:N", [{"id": "again", "p": value}])
            assert len(raised.value.existing) == 1
            with pytest.raises(DuplicateValues) as raised, repo.transaction() as tx:
                tx.overwrite("node:N", [{"id": "x", "p": value}, {"id": "y", "p": value}])
            assert len(raised.value.repeated) == 1
        assert repo.snapshot().read("node:N").num_rows >= len(values)


def test_the_declaration(repo: Repository) -> None:
    """It is kept, shown by the schema, travels, and is checked when it is declared."""
    assert repo.snapshot().schema == SCHEMA
    again = pickle.loads(pickle.dumps(SCHEMA))
    assert again == SCHEMA
    with pytest.raises(InvalidSchema) as raised:
        Repository.init(
            f"{repo.uri}-2",
            GraphSchema(
                nodes=[NodeType("A", {"f": pa.float64()}, unique=["f", "missing"])],
                edges=[EdgeType("E", "A", "A", {"l": pa.list_(pa.int8())}, unique=["l"])],
            ),
        )
    assert [words in str(raised.value) for words in ("'f'", "'missing'", "'l'")] == [True] * 3


def test_declaring_it_later(repo: Repository) -> None:
    """Rows that are there are looked at; a writer at work that did not know is refused."""
    assert repo.evolve(PLAIN) is not None
    assert repo.snapshot().schema == PLAIN
    with repo.transaction() as tx:
        tx.append(USER, [user("c", "a@x")])
    before = repo.snapshot().version
    assert "unique" in str(repo.plan_evolution(SCHEMA))
    with pytest.raises(DuplicateValues):
        repo.evolve(SCHEMA)
    assert repo.snapshot().version == before
    with repo.transaction() as tx:
        tx.delete(USER, ids=["c"])
    with pytest.raises((DuplicateValues, ExpectedVersionMismatch)), repo.transaction() as tx:
        tx.append(USER, [user("c", "a@x")])
        assert repo.evolve(SCHEMA) is not None
    assert emails(repo) == {"a": "a@x", "b": "b@x", "n": None}
    assert repo.snapshot().schema == SCHEMA
    assert repo.plan_evolution(SCHEMA).is_empty
    new = NodeType("User", {**PROPERTIES, "nick": pa.string()}, unique=["nick"])
    assert repo.evolve(GraphSchema(nodes=[new])) is not None
    assert repo.snapshot().schema.nodes[0].unique == ("nick",)
    with repo.transaction() as tx:
        tx.upsert(USER, [{"id": "a", "email": "same"}, {"id": "b", "email": "same"}])
