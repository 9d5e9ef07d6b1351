"""``repo.publish`` of versions that are not what the caller says, or not the branch's own."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import pyarrow as pa
import pytest
from forced_order import meanwhile
from small_graph import COMPANY, PERSON, SCHEMA, append, people

from omnigraph_l1 import Table, table_path
from omnigraph_l2 import (
    EdgeType,
    GraphSchema,
    NodeType,
    RegisterTable,
    Repository,
    TableUpdate,
)
from omnigraph_l2.errors import DanglingEdges, InvalidChange

KNOWS = "edge:Knows"
ENDS = {"endpoints": {"src": "Person", "dst": "Person"}}
LIKES = pa.schema([pa.field(name, pa.string(), nullable=False) for name in ("id", "src", "dst")])


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A repository with a person."""
    made = Repository.init(tmp_path / "repo", SCHEMA, durability="none")
    append(made, "ann")
    return made


def table(repo: Repository, key: str) -> Table:
    """Open the newest version of a table's dataset."""
    return Table.open(Path(repo.uri) / table_path(key))


def added(repo: Repository, key: str, **row: str | None) -> TableUpdate:
    """Append a row to the dataset of a table; return what would publish it."""
    before = table(repo, key)
    values = {name: [row.get(name)] for name in before.schema.names}
    after = before.append(pa.table(values, schema=before.schema)).table
    return TableUpdate(table_key=key, table_version=after.version, row_count=after.count())


def shown(repo: Repository, branch: str) -> TableUpdate:
    """Return what would publish the version of people that a branch shows."""
    entry = repo.snapshot(branch).tables[PERSON]
    return TableUpdate(
        table_key=PERSON,
        table_version=entry.table_version,
        table_branch=entry.table_branch,
        row_count=entry.row_count,
    )


@pytest.mark.parametrize("rows", [0, 77])
def test_another_number_of_rows(repo: Repository, rows: int) -> None:
    """With none, the ends of edges would not have been looked at."""
    path = table_path("edge:Likes")
    likes = Table.create(Path(repo.uri) / path, LIKES, durability="none")
    row = pa.table({"id": ["1"], "src": ["nobody"], "dst": ["ann"]}, schema=LIKES)
    number = likes.append(row).table.version
    register = RegisterTable(table_key="edge:Likes", table_path=path, metadata=ENDS)

    def update(rows: int) -> TableUpdate:
        return TableUpdate(table_key="edge:Likes", table_version=number, row_count=rows)

    with pytest.raises(DanglingEdges):
        repo.publish([register, update(1)])
    with pytest.raises(InvalidChange, match=f"row_count is {rows}, and the version has 1"):
        repo.publish([register, update(rows)])
    assert repo.verify().ok


def test_a_version_of_another_branch(repo: Repository) -> None:
    """Deleting that branch would take it away."""
    repo.branches.create("side")
    append(repo, "bob", branch="side")
    append(repo, "cat", branch="side")
    with pytest.raises(InvalidChange, match="one of branch side"):
        repo.publish([shown(repo, "side")])
    repo.branches.delete("side")
    assert people(repo) == "ann"
    assert repo.verify().ok


@pytest.mark.parametrize("point", ["l2.branch.catalog_removed", "l2.branch.log_removed"])
def test_a_version_of_a_branch_that_is_being_deleted(repo: Repository, point: str) -> None:
    """The catalog has forgotten that branch; its tables go next."""
    repo.branches.create("side")
    append(repo, "bob", branch="side")
    update = shown(repo, "side")

    def publish() -> None:
        with pytest.raises(InvalidChange, match="one of branch side"):
            other.publish([update])

    with Repository.open(repo.uri, durability="none") as other, meanwhile(point, publish):
        repo.branches.delete("side")
    assert people(repo) == "ann"
    assert repo.verify().ok


@pytest.mark.usefixtures("impatient")
def test_the_number_of_the_visible_version_with_other_rows(repo: Repository) -> None:
    """Whoever expects that number would not notice, and the rows would be lost."""
    repo.branches.create("side")
    append(repo, "bob")
    append(repo, "cat", branch="side")
    main = shown(repo, "main")

    def swap() -> None:
        with pytest.raises(InvalidChange, match="with other rows"):
            other.publish([main], branch="side")

    with (
        Repository.open(repo.uri, durability="none") as other,
        meanwhile("l2.publish.planned", swap),
    ):
        append(repo, "dan", branch="side")
    assert people(repo, "side") == "ann cat dan"


def test_two_callers_declare_the_same_type_again(tmp_path: Path) -> None:
    """They are published one after another; neither they nor others get an error."""
    nodes = [*SCHEMA.nodes, NodeType("Town")]
    schema = GraphSchema(nodes=nodes, edges=[EdgeType("Knows", "Person", "Person")])
    repo = Repository.init(tmp_path / "repo", schema, durability="none")
    register = RegisterTable(table_key=KNOWS, table_path=table_path(KNOWS), metadata=ENDS)
    updates = [added(repo, PERSON, id="ann"), added(repo, COMPANY, id="co")]

    def publish(update: TableUpdate) -> object:
        return repo.publish([register, update])

    def innocent() -> None:
        with repo.transaction() as tx:
            tx.append("node:Town", [{"id": "oslo"}])

    publisher = repo._branch("main")._publisher
    with ThreadPoolExecutor(3) as pool:
        with publisher._leading:
            jobs = [*(pool.submit(publish, each) for each in updates), pool.submit(innocent)]
            while len(publisher._queue) < len(jobs):
                assert not any(job.done() for job in jobs)
                threading.Event().wait(0.01)
        for job in jobs:
            job.result(60)
    assert people(repo) == "ann"
    assert {repo.snapshot().read(key).num_rows for key in (COMPANY, "node:Town")} == {1}


@pytest.mark.parametrize(
    "metadata", [{"endpoints": 5}, {"endpoints": "ab"}, {"indexes": {"age": ["x"]}}]
)
@pytest.mark.parametrize("key", [KNOWS, PERSON])
def test_a_declaration_with_odd_values(
    repo: Repository, key: str, metadata: dict[str, object]
) -> None:
    """What cannot be understood does not count, whoever reads it."""
    repo.branches.create("side")
    append(repo, "bob", branch="side")
    register = RegisterTable(table_key=key, table_path=table_path(key), metadata=metadata)
    repo.publish([register])
    assert repo.snapshot().schema
    repo.branches.merge("side")
    repo.optimize()
    assert repo.verify().ok
    repo.revert(repo.log()[0].graph_commit_id, strategy="ours")


def test_what_follows_from_the_version_itself(repo: Repository) -> None:
    """Whether it was flushed, and where it is, is not for the caller to say."""
    said = {"durable": True, "manifest_path": "etc/passwd", "source": "elsewhere"}
    update = attrs.evolve(added(repo, PERSON, id="bob"), metadata=said)
    repo.publish([update])
    rows = Table.open(Path(repo.uri) / "__manifest").read().to_pylist()
    (row,) = [each for each in rows if "elsewhere" in (each["metadata"] or "")]
    found = json.loads(row["metadata"])
    assert found["source"] == "elsewhere"
    assert not found.get("durable")
    assert found["manifest_path"].endswith(".manifest")
