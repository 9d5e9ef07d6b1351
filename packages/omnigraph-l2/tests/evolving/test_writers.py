"""Writers that are at work while the schema changes: they fail, or publish what is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product

import lance
import pyarrow as pa
import pytest
from forced_order import meanwhile
from graphs import PEOPLE, PERSON, SCHEMA, like, rows, with_types
from sizes import sampled

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository, TableUpdate, Transaction
from omnigraph_l2.errors import (
    DanglingEdges,
    ExpectedVersionMismatch,
    InvalidChange,
    InvalidSchema,
)

pytestmark = pytest.mark.usefixtures("impatient")

Write = Callable[[Transaction], object]
Evolve = Callable[[Repository], object]

NEW = {"id": "n", "name": "New", "age": 9}
NO_AGE = NodeType("Person", {"name": pa.string()})
OTHER_AGE = NodeType("Person", {"name": pa.string(), "age": pa.string()})
WIDER = NodeType("Person", {**PERSON.properties, "nick": pa.string()})
WITHOUT_PERSON = with_types(without=("node:Person", "edge:Knows", "edge:Works"))


def staged(tx: Transaction) -> None:
    """Append rows that are written as another process would write them."""
    tx.append_staged("node:Person", tx.stage("node:Person").write([NEW]))


def read_and_append(tx: Transaction) -> None:
    """Append, and read it back, so that it is applied at once."""
    tx.append("node:Person", [NEW])
    assert tx.read("node:Person").num_rows == 3


WRITES: dict[str, Write] = {
    "append": lambda tx: tx.append("node:Person", [NEW]),
    "append, read": read_and_append,
    "staged": staged,
    "upsert": lambda tx: tx.upsert("node:Person", [{"id": "a", "name": "A", "age": 4}, NEW]),
    "overwrite": lambda tx: tx.overwrite("node:Person", [NEW]),
    "delete ids": lambda tx: tx.delete("node:Person", ids=["b"]),
    "delete where": lambda tx: tx.delete("node:Person", "age IS NULL"),
}


def through(*schemas: GraphSchema) -> Evolve:
    """Evolve through several schemas."""

    def evolve(repository: Repository) -> None:
        for schema in schemas:
            assert repository.evolve(schema) is not None

    return evolve


EVOLVES: dict[str, Evolve] = {
    "property added": through(with_types(WIDER)),
    "property dropped": through(with_types(NO_AGE)),
    "property dropped and added": through(with_types(NO_AGE), SCHEMA),
    "property of another type": through(with_types(NO_AGE), with_types(OTHER_AGE)),
    "type dropped": through(WITHOUT_PERSON),
    "type dropped and added": through(WITHOUT_PERSON, SCHEMA),
    "another type of that name": through(WITHOUT_PERSON, with_types(OTHER_AGE)),
}


def without_edges(repository: Repository) -> None:
    """Delete the edge, so that people can be deleted."""
    with repository.transaction() as tx:
        tx.delete("edge:Knows", "true")


@contextmanager
def racing(repository: Repository, moment: str, act: Callable[[], object]) -> Iterator[Transaction]:
    """Give a transaction, and act when it comes to a step, or just before it commits."""
    if moment == "while it is open":
        with repository.transaction() as tx:
            yield tx
            act()
    else:
        with meanwhile(moment, act), repository.transaction() as tx:
            yield tx


MOMENTS = ["while it is open", "l2.table.committed", "l2.publish.planned"]


@pytest.mark.parametrize(
    ("writing", "evolving", "moment"), sampled(product(WRITES, EVOLVES, MOMENTS), 50)
)
def test_a_transaction_across_an_evolve(
    repo: Repository, other: Repository, writing: str, evolving: str, moment: str
) -> None:
    """It fails with a typed conflict, and then nothing of it is there; or it is as if it had come
    after the evolve. The evolve loses nothing by it.
    """
    write, evolve = WRITES[writing], EVOLVES[evolving]
    without_edges(repo)
    failed = False
    try:
        with racing(repo, moment, lambda: evolve(other)) as tx:
            write(tx)
    except ExpectedVersionMismatch:
        failed = True
    left = repo.snapshot()
    if "node:Person" not in left.tables:
        assert failed
        return
    with other.transaction() as tx:
        tx.expect("node:Person")
    found = rows(repo, "node:Person")
    serial = Repository.init(f"{repo.uri}-serial", SCHEMA, durability="none")
    with serial.transaction() as tx:
        tx.append("node:Person", PEOPLE)
    evolve(serial)
    assert like(left.schema) == like(serial.snapshot().schema)
    if not failed:
        with serial.transaction() as tx:
            write(tx)
    assert found == rows(serial, "node:Person")
    assert left.tables["node:Person"].row_count == len(found)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_retry_writes_for_the_new_columns(
    repo: Repository, other: Repository, write: Write
) -> None:
    """``repo.retry`` begins again where a column was added, and then it fits."""
    without_edges(repo)
    evolved: list[object] = []

    def work(tx: Transaction) -> None:
        write(tx)
        if not evolved:
            evolved.append(other.evolve(with_types(WIDER)))

    repo.retry(work)
    assert like(repo.snapshot().schema) == like(with_types(WIDER))
    assert rows(repo, "node:Person") != PEOPLE


@pytest.mark.parametrize("moment", ["l2.table.committed", "l2.evolve.added", "l2.publish.planned"])
def test_rows_that_come_in_during_an_evolve_are_kept(
    repo: Repository, other: Repository, moment: str
) -> None:
    """The evolve is made again on top of them."""

    def write() -> None:
        with other.transaction() as tx:
            tx.append("node:Person", [NEW])
            tx.upsert("node:Person", [{"id": "a", "age": 4}])

    with meanwhile(moment, write):
        repo.evolve(with_types(WIDER))
    assert rows(repo, "node:Person") == [
        {"id": "a", "name": "Ann", "age": 4, "nick": None},
        {"id": "b", "name": "Bob", "age": None, "nick": None},
        {**NEW, "nick": None},
    ]


def test_a_drop_meets_a_writer(repo: Repository, other: Repository) -> None:
    """The rows that came in first are dropped with the others, and stay in older snapshots."""

    def write() -> None:
        with other.transaction() as tx:
            tx.append("node:Person", [NEW])

    with meanwhile("l2.publish.planned", write):
        repo.evolve(WITHOUT_PERSON)
    assert "node:Person" not in repo.snapshot().tables
    parent = repo.log()[1].graph_commit_id
    assert repo.snapshot(commit=parent).read("node:Person").num_rows == 3


def test_an_update_without_expectations_does_not_bring_a_type_back(
    repo: Repository, other: Repository
) -> None:
    """A writer that publishes by hand has the next version, and the type is gone."""
    entry = repo.snapshot().tables["node:Person"]
    dataset = repo.snapshot().dataset("node:Person")
    written = lance.write_dataset(dataset.to_table().slice(0, 0), dataset.uri, mode="append")
    assert written.version == entry.table_version + 1
    update = TableUpdate(table_key="node:Person", table_version=written.version, row_count=2)
    other.evolve(WITHOUT_PERSON)
    with pytest.raises(ExpectedVersionMismatch):
        repo.publish([update], expected_table_versions={"node:Person": entry.table_version})
    with pytest.raises(InvalidChange, match="which is dropped"):
        repo.publish([update])


def add_edge(tx: Transaction) -> None:
    """Append an edge that fits the schema in the beginning."""
    tx.append("edge:Works", [{"id": "w", "src": "a", "dst": "c"}])


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_edge_never_has_ends_of_another_type(
    repo: Repository, other: Repository, moment: str
) -> None:
    """An edge that was checked against the ends that its type had before fails."""
    wanted = with_types(EdgeType("Works", "Company", "Person"))
    with (
        pytest.raises((ExpectedVersionMismatch, DanglingEdges)),
        racing(repo, moment, lambda: other.evolve(wanted)) as tx,
    ):
        add_edge(tx)
    assert rows(repo, "edge:Works") == []
    assert like(repo.snapshot().schema) == like(wanted)


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_edge_never_outlives_the_type_of_its_end(
    repo: Repository, other: Repository, moment: str
) -> None:
    """The node type and the edge type are dropped, so the edge fails."""
    wanted = with_types(without=("node:Company", "edge:Works"))
    with (
        pytest.raises(ExpectedVersionMismatch),
        racing(repo, moment, lambda: other.evolve(wanted)) as tx,
    ):
        add_edge(tx)
    assert like(repo.snapshot().schema) == like(wanted)


def test_an_evolve_gives_way_to_edges(repo: Repository, other: Repository) -> None:
    """Edges that came in make it impossible to change the ends: then it is told why."""

    def write() -> None:
        with other.transaction() as tx:
            add_edge(tx)

    with (
        meanwhile("l2.publish.planned", write),
        pytest.raises(InvalidSchema, match="edge type 'Works' has 1 row"),
    ):
        repo.evolve(with_types(EdgeType("Works", "Company", "Person")))
    assert rows(repo, "edge:Works") == [{"id": "w", "src": "a", "dst": "c"}]
    assert like(repo.snapshot().schema) == like(SCHEMA)


def test_two_evolves_of_different_types(repo: Repository, other: Repository) -> None:
    """The second would drop what the first has added: it is told, and nothing is dropped."""
    first, second = with_types(NodeType("Pet")), with_types(NodeType("House"))
    with (
        meanwhile("l2.publish.planned", lambda: other.evolve(first)),
        pytest.raises(ExpectedVersionMismatch) as caught,
    ):
        repo.evolve(second)
    assert (caught.value.table_key, caught.value.expected) == ("node:Pet", 0)
    assert like(repo.snapshot().schema) == like(first)


def test_an_edge_type_never_comes_to_a_node_type_that_goes(
    repo: Repository, other: Repository
) -> None:
    """One adds an edge type to a node type, another drops that: one of them loses."""
    drops = with_types(without=("node:Company", "edge:Works"))
    adds = with_types(EdgeType("Owns", "Person", "Company"))
    for loser, winner in ((drops, adds), (adds, drops)):
        with (
            meanwhile("l2.publish.planned", partial(other.evolve, winner)),
            pytest.raises(ExpectedVersionMismatch),
        ):
            repo.evolve(loser)
        assert like(repo.snapshot().schema) == like(winner)
        other.evolve(SCHEMA)


def test_two_that_want_the_same_are_one(repo: Repository, other: Repository) -> None:
    """The second finds it done."""
    wanted = with_types(NodeType("Pet", {"name": pa.string()}), WIDER)
    with meanwhile("l2.publish.planned", lambda: other.evolve(wanted)):
        assert repo.evolve(wanted) is None
    assert like(repo.snapshot().schema) == like(wanted)
    assert len(repo.log()) == 3


def test_two_that_want_one_name_for_different_types(repo: Repository, other: Repository) -> None:
    """Each makes a version of the dataset; the one that is published is its maker's."""
    mine = with_types(NodeType("Pet", {"name": pa.string()}))
    theirs = with_types(NodeType("Pet", {"legs": pa.int8()}))

    def write() -> None:
        other.evolve(theirs)
        with other.transaction() as tx:
            tx.append("node:Pet", [{"id": "p", "legs": 4}])

    for moment in ("l2.evolve.created", "l2.evolve.emptied", "l2.publish.planned"):
        with meanwhile(moment, write), pytest.raises((ExpectedVersionMismatch, InvalidSchema)):
            repo.evolve(mine)
        assert like(repo.snapshot().schema) == like(theirs)
        assert rows(repo, "node:Pet") == [{"id": "p", "legs": 4}]
        other.evolve(SCHEMA)
