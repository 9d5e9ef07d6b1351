"""Evolving a repository: what is then, what is kept, and what is left as it was."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from forced_order import meanwhile
from graphs import COMPANY, KNOWS, PEOPLE, PERSON, SCHEMA, like, rows, with_types

from omnigraph_l1 import Table, table_path
from omnigraph_l2 import (
    EdgeType,
    EvolvePlan,
    GraphCommit,
    GraphSchema,
    NodeType,
    RegisterTable,
    Repository,
)
from omnigraph_l2.errors import (
    DanglingEdges,
    InvalidRequest,
    InvalidSchema,
    UnknownBranch,
    UnknownTable,
)

WIDER = NodeType("Person", {"name": pa.string(), "nick": pa.list_(pa.string())})
PET = NodeType("Pet", {"name": pa.string()}, required=["name"])
OWNS = EdgeType("Owns", "Person", "Pet", {"since": pa.date32()})


def test_all_of_it_is_one_commit(repo: Repository) -> None:
    """Types and properties come and go together, with an actor and a message."""
    before = repo.snapshot()
    wanted = with_types(WIDER, PET, OWNS, without=("node:Company", "edge:Works"))
    commit = repo.evolve(wanted, actor="ann", message="next")
    assert isinstance(commit, GraphCommit)
    assert (commit.actor_id, commit.message) == ("ann", "next")
    assert repo.log()[:2] == [commit, before.commit]
    after = repo.snapshot()
    assert after.commit == commit
    assert like(after.schema) == like(wanted)
    assert set(after.tables) == {"node:Person", "node:Pet", "edge:Knows", "edge:Owns"}
    assert after.tables["edge:Knows"] == before.tables["edge:Knows"]
    assert rows(repo, "node:Person") == [
        {"id": "a", "name": "Ann", "nick": None},
        {"id": "b", "name": "Bob", "nick": None},
    ]
    assert rows(repo, "node:Pet") == []


def test_old_snapshots_read_the_old_schema(repo: Repository) -> None:
    """Those that were taken before, and those that are asked for after."""
    before = repo.snapshot()
    repo.evolve(with_types(WIDER, PET, without=("node:Company", "edge:Works")))
    assert before.commit is not None
    again = repo.snapshot(commit=before.commit.graph_commit_id)
    for old in (before, again, repo.snapshot(version=before.version)):
        assert like(old.schema) == like(SCHEMA)
        assert old.read("node:Person").to_pylist() == PEOPLE
        assert old.read("node:Company").num_rows == 1


def test_the_same_schema_is_no_commit(repo: Repository) -> None:
    """None, and nothing is written."""
    version = repo.snapshot().version
    assert repo.evolve(SCHEMA) is None
    assert repo.evolve(repo.snapshot().schema) is None
    assert repo.snapshot().version == version


def test_a_plan_can_be_seen_first(repo: Repository) -> None:
    """Nothing is written, not even a dataset."""
    version = repo.snapshot().version
    wanted = with_types(PET)
    plan = repo.evolve(wanted, dry_run=True)
    assert isinstance(plan, EvolvePlan)
    assert plan == repo.plan_evolution(wanted)
    assert [str(step) for step in plan.steps] == ["add node type 'Pet' (name: string, required)"]
    assert repo.snapshot().version == version
    assert not (Path(repo.uri) / table_path("node:Pet")).exists()


def test_what_is_refused_changes_nothing(repo: Repository) -> None:
    """Neither the catalog nor a dataset, though other steps could be done."""
    version = repo.snapshot().version
    wanted = with_types(PET, NodeType("Person", {"name": pa.int8(), "age": pa.int32()}))
    for try_it in (repo.evolve, repo.plan_evolution):
        with pytest.raises(InvalidSchema, match="cannot become int8"):
            try_it(wanted)
    assert repo.snapshot().version == version
    assert not (Path(repo.uri) / table_path("node:Pet")).exists()
    with pytest.raises(UnknownBranch):
        repo.evolve(wanted, branch="nope")
    with pytest.raises(InvalidRequest, match="a GraphSchema"):
        repo.evolve({"Pet": {}})  # type: ignore[call-overload]


def test_new_types_and_properties_can_be_written(repo: Repository) -> None:
    """Rows, edges with checked ends, and what is required is asked for."""
    repo.evolve(with_types(WIDER, PET, OWNS))
    with repo.transaction() as tx:
        tx.append("node:Pet", [{"id": "p", "name": "Rex"}])
        tx.append("edge:Owns", [{"id": "o", "src": "a", "dst": "p"}])
        tx.upsert("node:Person", [{"id": "a", "nick": ["A"]}])
    assert rows(repo, "node:Person")[0] == {"id": "a", "name": "Ann", "nick": ["A"]}
    assert rows(repo, "node:Person")[1]["nick"] is None
    with pytest.raises(DanglingEdges), repo.transaction() as tx:
        tx.append("edge:Owns", [{"id": "o2", "src": "a", "dst": "c"}])


@pytest.mark.parametrize(
    "again", [COMPANY, NodeType("Company", {"size": pa.int64()}, required=["size"])]
)
def test_a_dropped_type_comes_back_empty(repo: Repository, again: NodeType) -> None:
    """Above the version at which it was dropped, with the same columns or with others."""
    repo.evolve(with_types(without=("node:Company", "edge:Works")))
    with pytest.raises(UnknownTable):
        repo.snapshot().read("node:Company")
    wanted = with_types(again, without=("edge:Works",))
    assert "was dropped before, and starts empty" in str(repo.plan_evolution(wanted))
    repo.evolve(wanted)
    assert like(repo.snapshot().schema) == like(wanted)
    assert rows(repo, "node:Company") == []
    with repo.transaction() as tx:
        tx.append("node:Company", [{"id": "c", **dict.fromkeys(again.required, 7)}])
    assert [row["id"] for row in rows(repo, "node:Company")] == ["c"]
    for _ in range(3):
        repo.evolve(with_types(without=("node:Company", "edge:Works")))
        repo.evolve(wanted)
        assert rows(repo, "node:Company") == []


def test_a_property_that_comes_back_is_null(repo: Repository) -> None:
    """Its old values are those of another property."""
    repo.evolve(with_types(NodeType("Person", {"name": pa.string()})))
    repo.evolve(SCHEMA)
    assert [row["age"] for row in rows(repo, "node:Person")] == [None, None]
    repo.evolve(with_types(NodeType("Person", {"name": pa.string()})))
    repo.evolve(with_types(NodeType("Person", {"name": pa.string(), "age": pa.string()})))
    assert like(repo.snapshot().schema)["node:Person"].properties["age"] == pa.string()


def test_properties_can_be_taken_away_to_the_last(repo: Repository) -> None:
    """Required ones too: the ids stay."""
    older = NodeType("Strict", {"a": pa.int32(), "b": pa.string()}, required=["a"])
    repo.evolve(with_types(older))
    with repo.transaction() as tx:
        tx.append("node:Strict", [{"id": "s", "a": 1, "b": "x"}])
    repo.evolve(with_types(NodeType("Strict")))
    assert rows(repo, "node:Strict") == [{"id": "s"}]


def test_ends_of_an_empty_edge_type_change(repo: Repository) -> None:
    """With its properties, if need be. Edges are then checked against the new ends."""
    other = EdgeType("Works", "Company", "Person", {"role": pa.string()})
    repo.evolve(with_types(other))
    assert like(repo.snapshot().schema)["edge:Works"] == other
    with repo.transaction() as tx:
        tx.append("edge:Works", [{"id": "w", "src": "c", "dst": "a", "role": "boss"}])
    with pytest.raises(DanglingEdges), repo.transaction() as tx:
        tx.append("edge:Works", [{"id": "v", "src": "a", "dst": "c"}])


def test_ends_and_node_types_change_together(repo: Repository) -> None:
    """An edge type can leave a node type that is dropped in the same step."""
    wanted = with_types(
        EdgeType("Works", "Person", "Firm"), NodeType("Firm"), without=("node:Company",)
    )
    repo.evolve(wanted)
    assert like(repo.snapshot().schema) == like(wanted)


@pytest.mark.parametrize("columns", [PET.arrow_schema, pa.schema([("x", pa.string())])])
def test_a_dataset_that_somebody_left_is_taken_up(repo: Repository, columns: pa.Schema) -> None:
    """Whatever it holds, and whatever its columns: nobody ever saw it."""
    left = Table.create(f"{repo.uri}/{table_path('node:Pet')}", columns)
    left.append(pa.table({name: ["1", "2"] for name in columns.names}, schema=columns))
    repo.evolve(with_types(PET))
    assert rows(repo, "node:Pet") == []
    assert repo.snapshot().tables["node:Pet"].row_count == 0
    assert like(repo.snapshot().schema)["node:Pet"] == PET


def test_a_table_that_was_only_registered_gets_its_first_version(repo: Repository) -> None:
    """A registration shows nothing, and takes nothing away."""
    repo.publish([RegisterTable(table_key="node:Pet", table_path=table_path("node:Pet"))])
    repo.evolve(with_types(PET))
    assert like(repo.snapshot().schema)["node:Pet"] == PET


def test_rows_of_a_stranger_at_the_head_never_come_in(repo: Repository) -> None:
    """What a crashed writer left at the head of a table is not published by an evolve."""
    pinned = repo.snapshot().tables["node:Person"]
    stranger = Table.open(f"{repo.uri}/{pinned.table_path}")
    stranger.append(pa.table({"id": ["x"], "name": ["X"], "age": [1]}, schema=stranger.schema))
    repo.evolve(with_types(WIDER))
    assert [row["id"] for row in rows(repo, "node:Person")] == ["a", "b"]
    assert repo.snapshot().tables["node:Person"].row_count == 2


def test_a_repository_can_start_with_nothing(tmp_path: Path) -> None:
    """From no type to all of them, and back."""
    with Repository.init(tmp_path / "r", durability="none") as repository:
        repository.evolve(SCHEMA)
        assert like(repository.snapshot().schema) == like(SCHEMA)
        repository.evolve(GraphSchema())
        assert repository.snapshot().tables == {}
        repository.evolve(SCHEMA)
    with Repository.open(tmp_path / "r") as repository:
        assert like(repository.snapshot().schema) == like(SCHEMA)
        assert len(repository.log()) == 4


def test_indexes_are_no_obstacle(repo: Repository) -> None:
    """A property with an index over it can be dropped; the index goes with it."""
    pinned = repo.snapshot().tables["node:Person"]
    table = Table.open(f"{repo.uri}/{pinned.table_path}")
    table = table.create_index("age").table
    table = table.create_index("id").table
    from omnigraph_l2 import TableUpdate  # noqa: PLC0415

    update = TableUpdate(table_key="node:Person", table_version=table.version, row_count=2)
    repo.publish([update])
    repo.evolve(with_types(WIDER))
    assert rows(repo, "node:Person")[0]["id"] == "a"
    assert repo.snapshot().find("node:Person", ["b"]).num_rows == 1


def test_on_s3_too(s3_store: object) -> None:
    """The same on a real S3 server."""
    store = s3_store
    repository = Repository.init(store.uri("r"), SCHEMA, store.storage_options)  # type: ignore[attr-defined]
    with repository.transaction() as tx:
        tx.append("node:Person", PEOPLE)
    repository.evolve(with_types(WIDER, PET, OWNS, without=("node:Company", "edge:Works")))
    repository.evolve(with_types(PERSON, KNOWS))
    assert like(repository.snapshot().schema) == like(SCHEMA)
    assert [row["name"] for row in rows(repository, "node:Person")] == ["Ann", "Bob"]
    assert rows(repository, "node:Company") == []


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", ["evolve", "merge"])
def test_a_type_that_another_adds_and_drops_meanwhile(repo: Repository, how: str) -> None:
    """It is a lost race, after which the type is added above what was dropped."""
    pets = with_types(PET)
    if how == "merge":
        repo.branches.create("side")
        repo.evolve(pets, branch="side")

    def add_and_drop() -> None:
        other.evolve(pets)
        with other.transaction() as tx:
            tx.append("node:Pet", [{"id": "rex", "name": "Rex"}])
        other.evolve(SCHEMA)

    with (
        Repository.open(repo.uri, durability="none") as other,
        meanwhile("l2.publish.planned", add_and_drop),
    ):
        if how == "evolve":
            repo.evolve(pets)
        else:
            repo.branches.merge("side")
    assert rows(repo, "node:Pet") == []
    assert repo.verify().ok
