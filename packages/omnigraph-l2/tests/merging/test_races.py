"""Merges beside writers on the target, in threads that meet at a chosen step and in processes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from forced_order import meanwhile
from mergework import COMPANY, KNOWS, PERSON, ages, edge, put, race_to_merge, race_to_write, rows
from racing import race_of

from omnigraph_l1 import table_path
from omnigraph_l2 import EdgeType, GraphSchema, MergeKind, NodeType, Repository
from omnigraph_l2.errors import (
    ExpectedVersionMismatch,
    MergeConflict,
    MergeConflicts,
    SnapshotExpired,
    UnknownBranch,
)

pytestmark = pytest.mark.usefixtures("impatient")

WRITTEN = "l2.merge.written"


def test_somebody_publishes_to_a_table_that_is_merged(repo: Repository) -> None:
    """It is decided anew, on what is there then."""
    put(repo, "side", ann=2)
    with meanwhile(WRITTEN, lambda: put(repo, "main", bob=3)):
        result = repo.branches.merge("side")
    assert result.kind is MergeKind.MERGED
    assert ages(repo) == {"ann": 2, "bob": 3, "cat": 1}
    assert [each.merged_parent_commit_id is not None for each in repo.log(limit=2)] == [True, False]


def test_somebody_publishes_to_several_tables(repo: Repository) -> None:
    """Who has no time left to decide anew is told the first of them, by name, in any process."""

    def put_everywhere(branch: str, name: str) -> None:
        put(repo, branch, **{name: 2})
        put(repo, branch, COMPANY, **{name: {"name": name}})
        put(repo, branch, KNOWS, **{name: edge("ann", "cat")})

    put_everywhere("side", "new")
    with (
        meanwhile(WRITTEN, lambda: put_everywhere("main", "other")),
        pytest.raises(ExpectedVersionMismatch) as raised,
    ):
        repo.branches.merge("side", timeout=0)
    assert raised.value.table_key == KNOWS


def test_somebody_makes_it_a_conflict(repo: Repository) -> None:
    """It is told then, and nothing is merged."""
    put(repo, "side", ann=2)
    with meanwhile(WRITTEN, lambda: put(repo, "main", ann=3)), pytest.raises(MergeConflicts):
        repo.branches.merge("side")
    assert ages(repo)["ann"] == 3


def test_somebody_adds_an_edge_to_a_node_that_goes(repo: Repository) -> None:
    """Also where no table of edges is merged."""
    put(repo, "side", cat=None)
    act = lambda: put(repo, "main", KNOWS, ac=edge("ann", "cat"))  # noqa: E731
    with meanwhile(WRITTEN, act), pytest.raises(MergeConflicts) as raised:
        repo.branches.merge("side")
    assert [each.row_id for each in raised.value.conflicts] == ["ac"]


def test_somebody_deletes_a_node_that_a_new_edge_needs(repo: Repository) -> None:
    """Also where no table of nodes is merged."""
    put(repo, "side", KNOWS, ac=edge("ann", "cat"))
    with (
        meanwhile(WRITTEN, lambda: put(repo, "main", cat=None)),
        pytest.raises(MergeConflicts) as raised,
    ):
        repo.branches.merge("side")
    assert [each.row_id for each in raised.value.conflicts] == ["ac"]


def test_somebody_changes_another_table(repo: Repository) -> None:
    """It does not matter, but the target has moved."""
    put(repo, "side", ann=2)
    with meanwhile(WRITTEN, lambda: put(repo, "main", "node:Company", more={"name": "More"})):
        result = repo.branches.merge("side")
    assert result.kind is MergeKind.MERGED
    assert set(rows(repo, "node:Company")) == {"co", "more"}


def test_somebody_changes_the_schema(repo: Repository) -> None:
    """It is decided anew."""
    put(repo, "side", ann=2)
    schema = repo.snapshot().schema
    more = GraphSchema(nodes=[*schema.nodes, NodeType("Pet")], edges=schema.edges)
    with meanwhile(WRITTEN, lambda: repo.evolve(more)):
        repo.branches.merge("side")
    assert ages(repo)["ann"] == 2
    assert "node:Pet" in repo.snapshot().tables


def test_somebody_adds_edges_at_a_type_that_goes(repo: Repository) -> None:
    """Their type is new, and no table that the merge knows of: it is a conflict all the same."""
    schema = repo.snapshot().schema
    people = [each for each in schema.nodes if each.name == "Person"]
    knows = [each for each in schema.edges if each.name == "Knows"]
    repo.evolve(GraphSchema(nodes=people, edges=knows), branch="side")
    owns = EdgeType("Owns", "Person", "Company")
    more = GraphSchema(nodes=schema.nodes, edges=[*schema.edges, owns])
    with (
        meanwhile(WRITTEN, lambda: repo.evolve(more)),
        pytest.raises(MergeConflicts) as raised,
    ):
        repo.branches.merge("side")
    assert [(each.table_key, each.kind.value) for each in raised.value.conflicts] == [
        ("node:Company", "drop_vs_change")
    ]
    assert {"node:Company", "edge:Owns"} <= repo.snapshot().tables.keys()


def test_somebody_expects_a_type_that_is_dropped(repo: Repository) -> None:
    """What was expected of it does not hold any more."""
    before = {key: entry.table_version for key, entry in repo.snapshot().tables.items()}
    schema = repo.snapshot().schema
    kept = [each for each in schema.edges if each.name != "Works"]
    repo.evolve(GraphSchema(nodes=schema.nodes, edges=kept), branch="side")
    repo.branches.merge("side")
    with pytest.raises(ExpectedVersionMismatch):
        repo.publish([], expected_table_versions={"edge:Works": before["edge:Works"]})


def test_the_source_moves_on(repo: Repository) -> None:
    """What is merged is what it was when the merge began."""
    made = put(repo, "side", ann=2)
    assert made is not None
    with meanwhile(WRITTEN, lambda: put(repo, "side", bob=3)):
        commit = repo.branches.merge("side").commit
    assert commit is not None
    assert commit.merged_parent_commit_id == made.graph_commit_id
    assert ages(repo) == {"ann": 2, "bob": 1, "cat": 1}


@pytest.mark.parametrize("left", ["nothing", "versions"])
def test_the_target_is_deleted(repo: Repository, tmp_path: Path, left: str) -> None:
    """It is told as that, also while its files go one by one."""
    put(repo, "side", ann=2)
    put(repo, "main", ann=3, bob=2)
    native = repo.snapshot("side").tables[PERSON].table_branch
    versions = Path(repo.uri) / table_path(PERSON) / "tree" / str(native) / "_versions"
    kept = shutil.copytree(versions, tmp_path / "kept")

    def theirs_after_it_went(conflict: MergeConflict) -> object:
        repo.branches.delete("side")
        assert not versions.exists()
        if left == "versions":
            shutil.copytree(kept, versions)
        return conflict.theirs

    with pytest.raises(UnknownBranch) as told:
        repo.branches.merge("main", "side", strategy=theirs_after_it_went)
    assert told.value.branch == "side"


@pytest.mark.parametrize("left", ["nothing", "versions"])
def test_what_is_read_is_deleted(repo: Repository, tmp_path: Path, left: str) -> None:
    """A snapshot that no lease holds expires; it is not damaged."""
    put(repo, "side", ann=2)
    with Repository.open(repo.uri, durability="none") as reader:
        snapshot = reader.snapshot("side")
        native = snapshot.tables[PERSON].table_branch
        lineage = Path(repo.uri) / table_path(PERSON) / "tree" / str(native)
        kept = shutil.copytree(lineage / "_versions", tmp_path / "kept")
        repo.branches.delete("side")
        shutil.rmtree(lineage, ignore_errors=True)
        if left == "versions":
            shutil.copytree(kept, lineage / "_versions")
        with pytest.raises(SnapshotExpired):
            snapshot.read(PERSON)


@pytest.mark.integration
def test_processes_that_write_and_merge(anywhere: Repository) -> None:
    """Each write and each merge is there once, whatever the order."""
    repo = anywhere
    for number in range(2):
        repo.branches.create(f"side-{number}")
    options = repo._root.storage.lance_options
    jobs = [(job, number) for job in (race_to_merge, race_to_write) for number in range(2)]
    race_of([(job, (repo.uri, options, number)) for job, number in jobs])
    found = set(rows(repo, PERSON))
    assert found == {"ann", "bob", "cat"} | {
        f"{who}-{number}-{turn}" for who in ("b", "w") for number in range(2) for turn in range(3)
    }
    commits = repo.log()
    assert sum(each.merged_parent_commit_id is not None for each in commits) == 6
    parents = [each.parent_commit_id for each in commits]
    assert parents == [*(each.graph_commit_id for each in commits[1:]), None]
