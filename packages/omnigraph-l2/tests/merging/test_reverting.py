"""Taking a commit back: what was before it is there again, and what came after it stays."""

from __future__ import annotations

import pyarrow as pa
import pytest
from mergework import COMPANY, KNOWS, PERSON, SCHEMA, ages, edge, put, rows

from omnigraph_l2 import EdgeType, GraphCommit, GraphSchema, NodeType, Repository
from omnigraph_l2.errors import (
    InvalidRequest,
    MergeConflicts,
    UnknownReference,
)

WORKS = "edge:Works"
BARE = GraphSchema(
    nodes=[each for each in SCHEMA.nodes if each.table_key != COMPANY],
    edges=[each for each in SCHEMA.edges if each.table_key != WORKS],
)
START = {"ann": 1, "bob": 1, "cat": 1}


def undone(repo: Repository, made: GraphCommit | None, branch: str = "main") -> GraphCommit:
    """Revert a commit."""
    assert made is not None
    commit = repo.revert(made.graph_commit_id, branch)
    assert commit is not None
    return commit


def test_rows_come_back(anywhere: Repository) -> None:
    """Inserted, updated and deleted rows alike; it is one commit like any other."""
    repo = anywhere
    made = put(repo, "main", ann=2, dan=4, cat=None)
    put(repo, "main", bob=3)
    commit = undone(repo, made)
    assert ages(repo) == {**START, "bob": 3}
    assert commit.message == f"revert {made.graph_commit_id}" if made else False
    assert commit.merged_parent_commit_id is None
    assert repo.log(limit=1) == [commit]


def test_a_revert_can_be_reverted(repo: Repository) -> None:
    """And then all is as it was."""
    made = put(repo, "main", ann=2)
    commit = undone(repo, made)
    assert ages(repo) == START
    undone(repo, commit)
    assert ages(repo) == {**START, "ann": 2}


def test_what_is_undone_already(repo: Repository) -> None:
    """Nothing is written."""
    made = put(repo, "main", ann=2)
    assert made is not None
    put(repo, "main", ann=1)
    before = repo.log(limit=1)
    assert repo.revert(made.graph_commit_id) is None
    assert repo.log(limit=1) == before


def test_what_was_changed_again_since(repo: Repository) -> None:
    """It is a conflict, or for the strategy to decide: theirs is what was before the commit."""
    made = put(repo, "main", ann=2)
    assert made is not None
    put(repo, "main", ann=3)
    with pytest.raises(MergeConflicts, match="inverse") as raised:
        repo.revert(made.graph_commit_id)
    (found,) = raised.value.conflicts
    sides = (found.base, found.ours, found.theirs)
    assert [each and each["age"] for each in sides] == [2, 3, 1]
    assert repo.revert(made.graph_commit_id, strategy="ours") is None
    assert repo.revert(made.graph_commit_id, strategy="theirs", message="back") is not None
    assert ages(repo) == START
    assert repo.log(limit=1)[0].message == "back"


def test_nodes_that_came_with_the_commit_and_have_edges_now(repo: Repository) -> None:
    """The edges are conflicts: nothing is left dangling."""
    made = put(repo, "main", dan=4)
    assert made is not None
    put(repo, "main", KNOWS, ad=edge("ann", "dan"))
    with pytest.raises(MergeConflicts) as raised:
        repo.revert(made.graph_commit_id)
    assert [each.row_id for each in raised.value.conflicts] == ["ad"]
    repo.revert(made.graph_commit_id, strategy="theirs")
    assert set(rows(repo, KNOWS)) == {"ab"}
    assert ages(repo) == START


def test_types_that_were_dropped(anywhere: Repository) -> None:
    """They come back with the rows that they had."""
    repo = anywhere
    made = repo.evolve(BARE)
    put(repo, "main", ann=2)
    undone(repo, made)
    assert set(repo.snapshot().tables) == {PERSON, KNOWS, COMPANY, WORKS}
    assert rows(repo, COMPANY) == {"co": {"id": "co", "name": "Co"}}
    put(repo, "main", WORKS, w={"src": "ann", "dst": "co"})
    assert ages(repo)["ann"] == 2


def test_types_that_were_added(repo: Repository) -> None:
    """They go, unless somebody has used them."""
    pet = NodeType("Pet", {"name": pa.string()})
    schema = GraphSchema(nodes=[*SCHEMA.nodes, pet], edges=SCHEMA.edges)
    made = repo.evolve(schema)
    assert made is not None
    undone(repo, made)
    assert "node:Pet" not in repo.snapshot().tables
    made = repo.evolve(schema)
    assert made is not None
    put(repo, "main", "node:Pet", rex={"name": "Rex"})
    with pytest.raises(MergeConflicts) as raised:
        repo.revert(made.graph_commit_id)
    assert [each.kind.value for each in raised.value.conflicts] == ["drop_vs_change"]


def test_properties_that_were_dropped(repo: Repository) -> None:
    """They come back with their values, in rows that nobody changed since."""
    person = NodeType("Person", {"age": pa.int32()})
    made = repo.evolve(
        GraphSchema(
            nodes=[person, SCHEMA.nodes[1]],
            edges=[*SCHEMA.edges, EdgeType("E", "Person", "Person")],
        )
    )
    put(repo, "main", dan={"age": 5})
    undone(repo, made)
    assert rows(repo)["ann"] == {"id": "ann", "age": 1, "city": "Oslo"}
    assert rows(repo)["dan"] == {"id": "dan", "age": 5, "city": None}
    assert "edge:E" not in repo.snapshot().tables


def test_a_merge_is_taken_back(repo: Repository) -> None:
    """Against its first parent: what the other side brought goes."""
    put(repo, "side", ann=2, dan=4)
    put(repo, "main", bob=3)
    undone(repo, repo.branches.merge("side").commit)
    assert ages(repo) == {**START, "bob": 3}
    assert ages(repo, "side") == {**START, "ann": 2, "dan": 4}


def test_on_a_branch(repo: Repository) -> None:
    """Main stays as it is; also the commit of another branch can be taken back."""
    made = put(repo, "main", ann=2)
    repo.branches.merge("main", "side")
    undone(repo, made, "side")
    assert (ages(repo, "side"), ages(repo)) == (START, {**START, "ann": 2})


def test_what_cannot_be_reverted(repo: Repository) -> None:
    """The first commit, and none at all."""
    with pytest.raises(InvalidRequest, match="first commit"):
        repo.revert(repo.log()[-1].graph_commit_id)
    with pytest.raises(UnknownReference):
        repo.revert("01ARZ3NDEKTSV4RRFFQ69G5FAV")
