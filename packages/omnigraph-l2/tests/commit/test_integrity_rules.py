"""Every integrity rule holds for every operation that can publish.

An operation prepares its half of a violation, another writer publishes the other half, then the
operation is published. Each half alone is valid, both together break a rule, so that the operation
must be refused, and what is published must be whole. A new operation is covered by a line in
``OPERATIONS``, a new rule by a line in ``RULES``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import lance
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from forced_order import meanwhile

from omnigraph_l1 import table_path
from omnigraph_l2 import (
    EdgeType,
    GraphSchema,
    NodeType,
    Repository,
    TableUpdate,
    Transaction,
)
from omnigraph_l2.errors import DanglingEdges, OmniGraphError

PERSON, CITY, LIVES = "node:Person", "node:City", "edge:Lives"


def schema(*, ends: str = "City", unique: bool = False, lives: bool = True) -> GraphSchema:
    """Declare people, cities, and who lives where, or works on whom."""
    person = NodeType(
        "Person",
        {"email": pa.string(), "phone": pa.string()},
        unique=("email", "phone") if unique else ("email",),
    )
    edges = [EdgeType("Lives", "Person", ends)] if lives else []
    return GraphSchema(nodes=[person, NodeType("City")], edges=edges)


def person(name: str, **values: str) -> dict[str, Any]:
    """Make a row."""
    return {"id": name, "email": values.get("email", name), "phone": values.get("phone", name)}


def edge(name: str, src: str, dst: str) -> dict[str, Any]:
    """Make a row."""
    return {"id": name, "src": src, "dst": dst}


Change: TypeAlias = Callable[[Transaction], None]


@attrs.frozen
class Rule:
    """A rule, by two changes that break it together."""

    first: Callable[[Repository], object]
    """What another writer publishes in between."""
    second: Change
    """What the operation does."""
    tables: Sequence[str]
    """The tables that the second change writes."""


def _publish(change: Change) -> Callable[[Repository], object]:
    def done(repo: Repository) -> None:
        with repo.transaction() as tx:
            change(tx)

    return done


def _evolve(**how: Any) -> Callable[[Repository], object]:
    return lambda repo: repo.evolve(schema(**how))


def _visit(repo: Repository, city: str) -> None:
    known = schema()
    visits = EdgeType("Visits", "Person", "City")
    repo.evolve(GraphSchema(nodes=known.nodes, edges=[*known.edges, visits]))
    with repo.transaction() as tx:
        tx.append("edge:Visits", [edge("v", "p", city)])


def _point_at_people(repo: Repository) -> None:
    with repo.transaction() as tx:
        tx.delete(LIVES, "true")
    repo.evolve(schema(ends="Person"))


RULES = {
    "unique ids": Rule(
        _publish(lambda tx: tx.append(PERSON, [person("x", email="1")])),
        lambda tx: tx.append(PERSON, [person("x", email="2")]),
        [PERSON],
    ),
    "unique property": Rule(
        _publish(lambda tx: tx.append(PERSON, [person("x", email="m")])),
        lambda tx: tx.append(PERSON, [person("y", email="m")]),
        [PERSON],
    ),
    "unique property, declared in between": Rule(
        _evolve(unique=True),
        lambda tx: tx.append(PERSON, [person("y", phone="1"), person("z", phone="1")]),
        [PERSON],
    ),
    "an end that was removed": Rule(
        _publish(lambda tx: tx.delete(CITY, ids=["d"])),
        lambda tx: tx.append(LIVES, [edge("f", "p", "d")]),
        [LIVES],
    ),
    "an end that was removed by a filter": Rule(
        _publish(lambda tx: tx.delete(CITY, "id = 'd'")),
        lambda tx: tx.append(LIVES, [edge("f", "p", "d")]),
        [LIVES],
    ),
    "an end that was overwritten": Rule(
        _publish(lambda tx: tx.overwrite(CITY, [{"id": "c"}])),
        lambda tx: tx.append(LIVES, [edge("f", "p", "d")]),
        [LIVES],
    ),
    "a node with an edge": Rule(
        _publish(lambda tx: tx.append(LIVES, [edge("f", "p", "d")])),
        lambda tx: tx.delete(CITY, ids=["d"]),
        [CITY],
    ),
    "a node with an edge, by a filter": Rule(
        _publish(lambda tx: tx.append(LIVES, [edge("f", "p", "d")])),
        lambda tx: tx.delete(CITY, "id = 'd'"),
        [CITY],
    ),
    "a node with an edge of a new type": Rule(
        lambda repo: _visit(repo, "d"),
        lambda tx: tx.delete(CITY, ids=["d"]),
        [CITY],
    ),
    "an edge type with other ends": Rule(
        _point_at_people,
        lambda tx: tx.append(LIVES, [edge("f", "p", "d")]),
        [LIVES],
    ),
    "an edge type that was dropped": Rule(
        _evolve(lives=False), lambda tx: tx.append(LIVES, [edge("f", "p", "d")]), [LIVES]
    ),
    "an edge type that came again with other ends": Rule(
        lambda repo: (_evolve(lives=False)(repo), _evolve(ends="Person")(repo)),
        lambda tx: tx.append(LIVES, [edge("f", "p", "d")]),
        [LIVES],
    ),
}


# Each operation does its half, and returns what publishes it.

Operation: TypeAlias = Callable[[Repository, Rule], Callable[[], object]]


def in_a_transaction(repo: Repository, rule: Rule) -> Callable[[], object]:
    """Prepare a transaction."""
    tx = repo.transaction()
    tx.__enter__()
    rule.second(tx)
    return lambda: tx.__exit__(None, None, None)


def in_a_run(repo: Repository, rule: Rule) -> Callable[[], object]:
    """Do it on the branch of a run."""
    run = repo.runs.begin()
    with run.transaction() as tx:
        rule.second(tx)
    return run.publish


def by_a_merge(repo: Repository, rule: Rule) -> Callable[[], object]:
    """Do it on a branch."""
    repo.branches.create("side")
    with repo.transaction("side") as tx:
        rule.second(tx)
    return lambda: repo.branches.merge("side")


def by_a_merge_that_prefers_theirs(repo: Repository, rule: Rule) -> Callable[[], object]:
    """Do it on a branch, and let it win each conflict; what it breaks is still refused."""
    by_a_merge(repo, rule)
    return lambda: repo.branches.merge("side", strategy="theirs")


def by_a_revert(repo: Repository, rule: Rule) -> Callable[[], object]:
    """Do it, undo it, and revert the undoing."""
    with repo.transaction() as tx:
        rule.second(tx)
    done = tx.commit
    assert done is not None
    undone = repo.revert(done.graph_commit_id)
    assert undone is not None
    return lambda: repo.revert(undone.graph_commit_id)


def with_staged_rows(repo: Repository, rule: Rule) -> Callable[[], object]:
    """Let other processes write what is appended."""
    tx = repo.transaction()
    tx.__enter__()
    rule.second(_Staging(tx))  # type: ignore[arg-type]
    return lambda: tx.__exit__(None, None, None)


def with_staged_rows_that_were_checked(repo: Repository, rule: Rule) -> Callable[[], object]:
    """The same with the evidence that the rules held when the transaction began."""
    tx = repo.transaction()
    tx.__enter__()
    rule.second(_Staging(tx, checked_at=tx.snapshot.version))  # type: ignore[arg-type]
    return lambda: tx.__exit__(None, None, None)


@attrs.frozen
class _Staging:
    """A transaction whose rows are staged."""

    tx: Transaction
    checked_at: int | None = None

    def append(self, key: str, rows: list[dict[str, Any]]) -> None:
        target = self.tx.stage(key)
        data = pa.Table.from_pylist(rows, target.schema)
        self.tx.append_staged(key, target.write(data), checked_at=self.checked_at)

    def delete(self, key: str, predicate: str | None = None, *, ids: Any = None) -> None:
        gone = ["d"] if ids is None else ids
        target = self.tx.stage_changes(key)
        self.tx.change_staged(key, target.delete(gone), checked_at=self.checked_at)


def by_a_batch(repo: Repository, rule: Rule) -> Callable[[], object]:
    """Let the tables be written by other means, onto what is published then, and publish them."""
    with repo.transaction() as tx:
        rule.second(tx)
        wanted = {key: tx.read(key) for key in rule.tables}
        before = {key: tx.snapshot.read(key) for key in rule.tables}
        for key in rule.tables:
            tx.overwrite(key, before[key])

    def publish() -> None:
        with Repository.open(repo.uri) as other:
            now = {key: other.snapshot().read(key) for key in rule.tables}
        updates = []
        for key, rows in wanted.items():
            new = _not_in(rows, before[key])
            gone = _not_in(before[key], rows)
            data = pa.concat_tables([_not_in(now[key], gone), new])
            dataset = lance.dataset(str(Path(repo.uri) / table_path(key)))
            made = lance.write_dataset(data, dataset, mode="overwrite")
            updates.append(
                TableUpdate(table_key=key, table_version=made.version, row_count=data.num_rows)
            )
        repo.publish(updates)

    return publish


def _not_in(rows: pa.Table, others: pa.Table) -> pa.Table:
    known = pa.array(others["id"].to_pylist(), pa.string())
    return rows.filter(pc.invert(pc.is_in(rows["id"], value_set=known)))


OPERATIONS: Sequence[Operation] = [
    in_a_transaction,
    with_staged_rows,
    with_staged_rows_that_were_checked,
    in_a_run,
    by_a_merge,
    by_a_merge_that_prefers_theirs,
    by_a_revert,
    by_a_batch,
]


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    """A small graph: p lives in c, and d is empty."""
    with Repository.init(tmp_path / "graph", schema(), durability="none") as made:
        with made.transaction() as tx:
            tx.append(PERSON, [person("p"), person("q")])
            tx.append(CITY, [{"id": "c"}, {"id": "d"}])
            tx.append(LIVES, [edge("e", "p", "c")])
        yield made


def broken_rules(repo: Repository) -> list[str]:
    """Look at what is published, by plain reading."""
    snapshot = repo.snapshot()
    rows = {key: snapshot.read(key).to_pylist() for key in snapshot.tables}
    ids = {key: [row["id"] for row in each] for key, each in rows.items()}
    found = [
        f"{key}: an id is there twice" for key, each in ids.items() if len(set(each)) != len(each)
    ]
    for kind in snapshot.schema.nodes:
        for name in kind.unique:
            values = [row[name] for row in rows[kind.table_key] if row[name] is not None]
            if len(set(values)) != len(values):
                found.append(f"{kind.table_key}: a value of {name} is there twice")
    for kind in snapshot.schema.edges:
        for row in rows[kind.table_key]:
            for column, name in (("src", kind.source), ("dst", kind.target)):
                if row[column] not in ids.get(f"node:{name}", []):
                    found.append(f"{kind.table_key}: {row['id']} has no {column}")
    return found


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.__name__)
def test_each_rule_for_each_operation(repo: Repository, operation: Operation, rule: Rule) -> None:
    """What breaks a rule is refused; what another writer published stays, and nothing is broken."""
    publish = operation(repo, rule)
    with Repository.open(repo.uri, durability="none") as another:
        rule.first(another)
        before = another.snapshot().commit
        refused = False
        try:
            publish()
        except OmniGraphError:
            refused = True
        assert broken_rules(another) == []
        prefers = operation is by_a_merge_that_prefers_theirs
        assert refused or prefers, "both halves cannot hold"
        if refused:
            assert another.snapshot().commit == before
        assert another.verify(dangling_edges=True).ok


def test_a_filter_is_evaluated_once(repo: Repository) -> None:
    """Rows that were deleted are those that were checked, also if a filter never gives the same."""
    with repo.transaction() as tx:
        tx.append(PERSON, [person(f"p{number}") for number in range(100)])
        tx.append(LIVES, [edge(f"e{number}", f"p{number}", "c") for number in range(100)])
    for _ in range(5):
        with suppress(DanglingEdges), repo.transaction() as tx:
            tx.delete(PERSON, "random() < 0.05")
        assert broken_rules(repo) == []


def test_a_type_that_comes_between_check_and_publish(repo: Repository) -> None:
    """The set of types was read by the check, too: it is made again on the newer state."""
    with Repository.open(repo.uri, durability="none") as another:
        with (
            meanwhile("l2.publish.planned", lambda: _visit(another, "d")),
            pytest.raises(DanglingEdges),
            repo.transaction() as tx,
        ):
            tx.delete(CITY, ids=["d"])
        assert broken_rules(another) == []
