"""Each method of a transaction, each kind of data, each error."""

# ruff: noqa: PT012 - a transaction ends where its block does

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from tx_support import CITY, KNOWS, PERSON, add, edge, ids

from omnigraph_l2 import Repository, Transaction
from omnigraph_l2.errors import (
    DuplicateIds,
    ExpectedVersionMismatch,
    InvalidData,
    InvalidFilter,
    InvalidRequest,
    OmniGraphError,
    TransactionClosed,
    UnknownBranch,
    UnknownTable,
)

TABLE = pa.table({"id": ["c", "d"], "age": pa.array([3, 4], pa.int64())})
KINDS: dict[str, Callable[[], Any]] = {
    "table": lambda: TABLE,
    "batch": lambda: TABLE.to_batches()[0],
    "reader": lambda: TABLE.to_reader(max_chunksize=1),
    "mappings": TABLE.to_pylist,
    "generator": lambda: iter(TABLE.to_pylist()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["append", "upsert", "overwrite"])
def test_each_kind_of_data(repo: Repository, method: str, kind: str) -> None:
    """Every method takes every kind of data, and casts what loses nothing."""
    with repo.transaction() as tx:
        if method == "overwrite":
            tx.delete(KNOWS, "true")
        getattr(tx, method)(PERSON, KINDS[kind]())
    rows = {row["id"]: row["age"] for row in repo.snapshot().read(PERSON).to_pylist()}
    kept = {} if method == "overwrite" else {"a": 1, "b": 2}
    assert rows == {**kept, "c": 3, "d": 4}
    assert repo.snapshot().tables[PERSON].row_count == len(rows)


def test_everything_becomes_visible_together(repo: Repository) -> None:
    """Until the end nobody sees anything; then all of it, as one commit that says who made it."""
    before = repo.snapshot()
    with repo.transaction(actor="ann", message="hello") as tx:
        tx.append(PERSON, [{"id": "c"}])
        tx.append(KNOWS, [edge("f", "c", "a")])
        assert tx.commit is None
        assert repo.snapshot().tables == before.tables
    commit = tx.commit
    assert commit is not None
    assert (commit.actor_id, commit.message) == ("ann", "hello")
    assert commit.graph_commit_id == tx.commit_id
    assert before.commit is not None
    assert commit.parent_commit_id == before.commit.graph_commit_id
    assert repo.snapshot().commit == repo.commit(commit.graph_commit_id) == commit
    assert ids(repo, PERSON) == ["a", "b", "c"]


def test_it_reads_its_own_writes(repo: Repository) -> None:
    """Several operations on one table, each on top of the ones before it."""
    with repo.transaction() as tx:
        tx.append(PERSON, [{"id": "c", "age": 3}])
        assert sorted(tx.read(PERSON)["id"].to_pylist()) == ["a", "b", "c"]
        tx.upsert(PERSON, [{"id": "c", "name": "Cat"}, {"id": "d", "name": None}])
        tx.delete(PERSON, "age = 3")
        assert tx.read(PERSON, columns=["id"], filter="id > 'b'")["id"].to_pylist() == ["d"]
        tx.append(PERSON, [{"id": "c", "age": 30}])
        tx.delete(PERSON, ids=["d", "nobody"])
        assert tx.scan(PERSON).read_all().num_rows == 3
        assert tx.snapshot.read(PERSON).num_rows == 2
        assert tx.read(CITY).num_rows == 0
    assert ids(repo, PERSON) == ["a", "b", "c"]
    assert len(repo.log()) == 3


def test_upsert_keeps_what_is_not_given(repo: Repository) -> None:
    """A nullable column that the data lacks is kept, and null in new rows; given null is null."""
    with repo.transaction() as tx:
        tx.upsert(PERSON, pa.table({"id": ["a", "c"], "age": [10, 30]}))
        tx.upsert(PERSON, pa.table({"id": ["b"], "age": pa.array([None], pa.int32())}))
    rows = sorted(repo.snapshot().read(PERSON).to_pylist(), key=lambda row: row["id"])
    assert rows == [
        {"id": "a", "name": "Ann", "age": 10},
        {"id": "b", "name": None, "age": None},
        {"id": "c", "name": None, "age": 30},
    ]


def test_changes_of_nothing_are_no_commit(repo: Repository) -> None:
    """No rows, no match, no operation: nothing is written and no commit made."""
    before = repo.snapshot().version
    for change in (
        lambda tx: tx.append(PERSON, []),
        lambda tx: tx.delete(PERSON, "age > 100"),
        lambda tx: tx.delete(PERSON, ids=[]),
        lambda tx: tx.delete(PERSON, ids=["nobody"]),
        lambda tx: tx.read(PERSON),
        lambda tx: tx.expect(PERSON),
        lambda tx: None,
    ):
        with repo.transaction() as tx:
            change(tx)
        assert tx.commit is None
    assert repo.snapshot().version == before


def test_overwriting_with_nothing_empties(repo: Repository) -> None:
    """No rows at all are what the table then has."""
    with repo.transaction() as tx:
        tx.overwrite(KNOWS, [])
    assert tx.commit is not None
    assert ids(repo, KNOWS) == []


WRONG: list[tuple[type[OmniGraphError], Callable[[Transaction], Any]]] = [
    (DuplicateIds, lambda tx: tx.append(PERSON, [{"id": "a"}])),
    (DuplicateIds, lambda tx: tx.append(PERSON, [{"id": "x"}, {"id": "x"}])),
    (DuplicateIds, lambda tx: tx.overwrite(PERSON, [{"id": "x"}, {"id": "x"}])),
    (DuplicateIds, lambda tx: (tx.append(PERSON, [{"id": "x"}]), tx.append(PERSON, [{"id": "x"}]))),
    (InvalidData, lambda tx: tx.upsert(PERSON, [{"id": "x"}, {"id": "x"}])),
    (InvalidData, lambda tx: tx.append(PERSON, [{"id": None}])),
    (InvalidData, lambda tx: tx.append(PERSON, [{"name": "x"}])),
    (InvalidData, lambda tx: tx.append(PERSON, [{"id": "x", "age": 1.5}])),
    (InvalidData, lambda tx: tx.append(PERSON, [{"id": "x", "more": 1}])),
    (InvalidData, lambda tx: tx.append(PERSON, {"id": "x"})),
    (InvalidData, lambda tx: tx.append(PERSON, 5)),
    (InvalidData, lambda tx: tx.append(KNOWS, [{"id": "x", "src": "a"}])),
    (InvalidData, lambda tx: tx.delete(PERSON, ids=["a", None])),
    (InvalidData, lambda tx: tx.delete(PERSON, ids=[5])),
    (InvalidRequest, lambda tx: tx.delete(PERSON, ids="abc")),
    (InvalidRequest, lambda tx: tx.delete(PERSON, ids=5)),
    (InvalidRequest, lambda tx: tx.delete(PERSON)),
    (InvalidRequest, lambda tx: tx.delete(PERSON, "true", ids=["a"])),
    (InvalidFilter, lambda tx: tx.delete(PERSON, 5)),
    (InvalidFilter, lambda tx: tx.delete(PERSON, "age >")),
    (InvalidFilter, lambda tx: tx.delete(PERSON, "nothing = 1")),
    (InvalidFilter, lambda tx: tx.read(PERSON, filter="nothing = 1")),
    (InvalidData, lambda tx: tx.read(PERSON, columns=["nothing"])),
    (UnknownTable, lambda tx: tx.append("node:Nobody", [])),
    (UnknownTable, lambda tx: tx.delete("nonsense", "true")),
    (UnknownTable, lambda tx: tx.read("node:Nobody")),
    (UnknownTable, lambda tx: tx.stage("node:Nobody")),
    (ExpectedVersionMismatch, lambda tx: tx.expect(PERSON, 77)),
    (InvalidRequest, lambda tx: tx.expect(PERSON, -4)),
    (InvalidRequest, lambda tx: tx.append_staged(PERSON, [5])),
    (InvalidRequest, lambda tx: tx.append_staged(PERSON, None)),
    (InvalidRequest, lambda tx: tx.append_staged(PERSON, tx.stage(CITY).write([{"id": "x"}]))),
    (InvalidData, lambda tx: tx.stage(PERSON).write([{"id": "x", "more": 1}])),
]


@pytest.mark.parametrize(("kind", "wrong"), WRONG, ids=range(len(WRONG)))
def test_errors(
    repo: Repository, kind: type[OmniGraphError], wrong: Callable[[Transaction], Any]
) -> None:
    """Each mistake is told, typed, and nothing of its transaction is published."""
    before = repo.snapshot()
    with pytest.raises(OmniGraphError) as raised, repo.transaction() as tx:
        tx.append(CITY, [{"id": "rome"}])
        wrong(tx)
    assert type(raised.value) is kind
    assert tx.commit is None
    assert repo.snapshot().tables == before.tables
    add(repo, "after")
    assert ids(repo, PERSON) == ["a", "after", "b"]
    assert ids(repo, CITY) == []


def test_duplicates_are_listed(repo: Repository) -> None:
    """An append that brings ids twice names them: those that are there, and those in the data."""
    rows = [{"id": name} for name in ("a", "b", "x", "x")]
    with pytest.raises(DuplicateIds) as raised, repo.transaction() as tx:
        tx.append(PERSON, rows)
    assert set(raised.value.existing) == {"a", "b"}
    assert raised.value.repeated == ("x",)
    assert raised.value.table_key == PERSON


def test_an_exception_publishes_nothing(repo: Repository) -> None:
    """What comes out is the user's own exception, also after something was applied."""
    before, mine = repo.snapshot().version, KeyError("mine")
    with pytest.raises(KeyError, match="mine"), repo.transaction() as tx:
        tx.append(PERSON, [{"id": "c"}])
        assert tx.read(PERSON).num_rows == 3
        raise mine
    assert repo.snapshot().version == before
    add(repo, "c", "d")
    assert ids(repo, PERSON) == ["a", "b", "c", "d"]


def test_what_a_reader_raises_comes_out(repo: Repository) -> None:
    """A generator of the user's that fails in the middle publishes nothing."""

    def rows() -> Any:
        yield {"id": "c"}
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), repo.transaction() as tx:
        tx.append(PERSON, rows())
    assert ids(repo, PERSON) == ["a", "b"]


def test_used_at_the_wrong_time(repo: Repository) -> None:
    """Before it begins and after it ended a transaction does nothing."""
    calls: list[Callable[[Transaction], Any]] = [
        lambda tx: tx.append(PERSON, []),
        lambda tx: tx.upsert(PERSON, []),
        lambda tx: tx.overwrite(PERSON, []),
        lambda tx: tx.delete(PERSON, "true"),
        lambda tx: tx.read(PERSON),
        lambda tx: tx.scan(PERSON),
        lambda tx: tx.expect(PERSON),
        lambda tx: tx.stage(PERSON),
        lambda tx: tx.append_staged(PERSON, []),
        lambda tx: tx.snapshot,
    ]
    committed, abandoned, never = repo.transaction(), repo.transaction(), repo.transaction()
    with committed:
        pass
    with pytest.raises(KeyError), abandoned:
        raise KeyError
    for tx, state in ((committed, "committed"), (abandoned, "abandoned"), (never, "not begun")):
        for call in calls:
            with pytest.raises(TransactionClosed) as raised:
                call(tx)
            assert raised.value.state == state
    for tx in (committed, abandoned):
        with pytest.raises(TransactionClosed), tx:
            pass


def test_a_closed_repository(repo: Repository) -> None:
    """Nothing begins on a handle that was closed; closing again does nothing."""
    repo.close()
    repo.close()
    for call in (repo.transaction, repo.snapshot, repo.log, lambda: repo.publish([])):
        with pytest.raises(TransactionClosed):
            call()


@pytest.mark.parametrize("wrong", [5, b"x", "\ud800"])
@pytest.mark.parametrize("what", ["actor", "message", "operation_hash"])
def test_words_that_cannot_be_kept(repo: Repository, what: str, wrong: Any) -> None:
    """They are refused, typed, and nothing is published."""
    with pytest.raises(InvalidRequest), repo.transaction(**{what: wrong}) as tx:
        tx.append(PERSON, [{"id": "c"}])
    assert ids(repo, PERSON) == ["a", "b"]


def test_branches_that_are_not_there(repo: Repository) -> None:
    """A transaction on no branch does not begin."""
    with pytest.raises(UnknownBranch):
        repo.transaction("nope")
    with pytest.raises(OmniGraphError):
        repo.transaction(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest):
        repo.retry(lambda tx: None, attempts=0)
