"""Evolving on a graph branch: the others keep their schema, though they share datasets."""

from __future__ import annotations

import pyarrow as pa
import pytest
from graphs import PERSON, SCHEMA, branched, like, rows, with_types

from omnigraph_l1 import Table, table_path
from omnigraph_l2 import EdgeType, NodeType, Repository
from omnigraph_l2.errors import DanglingEdges

PET = NodeType("Pet", {"name": pa.string()}, required=["name"])
OTHER_PET = NodeType("Pet", {"legs": pa.int8()})
WIDER = NodeType("Person", {"name": pa.string(), "nick": pa.string()})
BRANCH = "what-if"


@pytest.fixture
def native(repo: Repository) -> str:
    """A graph branch of the repository, by its native name."""
    return branched(repo, BRANCH)


def test_properties_change_on_one_branch_only(repo: Repository, native: str) -> None:
    """The table is forked where it was pinned."""
    commit = repo.evolve(with_types(WIDER), branch=BRANCH)
    assert commit is not None
    assert commit.manifest_branch == native
    assert repo.snapshot(BRANCH).tables["node:Person"].table_branch == native
    assert like(repo.snapshot(BRANCH).schema) == like(with_types(WIDER))
    assert like(repo.snapshot().schema) == like(SCHEMA)
    with repo.transaction() as tx:
        tx.append("node:Person", [{"id": "m", "name": "M", "age": 1}])
    with repo.transaction(branch=BRANCH) as tx:
        tx.append("node:Person", [{"id": "w", "name": "W", "nick": "w"}])
    assert [row["id"] for row in rows(repo, "node:Person")] == ["a", "b", "m"]
    assert [row["id"] for row in rows(repo, "node:Person", BRANCH)] == ["a", "b", "w"]


@pytest.mark.parametrize("first", ["main", BRANCH])
def test_a_type_is_added_on_both_with_other_columns(
    repo: Repository, native: str, first: str
) -> None:
    """They share a dataset, and neither sees the rows or the columns of the other."""
    wanted = {"main": with_types(PET), BRANCH: with_types(OTHER_PET)}
    row = {"main": {"id": "p", "name": "Rex"}, BRANCH: {"id": "q", "legs": 4}}
    second = BRANCH if first == "main" else "main"
    for branch in (first, second):
        repo.evolve(wanted[branch], branch=branch)
        with repo.transaction(branch=branch) as tx:
            tx.append("node:Pet", [row[branch]])
    for branch in (first, second):
        assert like(repo.snapshot(branch).schema) == like(wanted[branch])
        assert rows(repo, "node:Pet", branch) == [row[branch]]
    assert repo.snapshot().tables["node:Pet"].table_branch is None


def test_the_head_of_main_is_left_alone(repo: Repository, native: str) -> None:
    """Another publisher may write only where the head of a table is its pinned version."""
    repo.evolve(with_types(PET))
    repo.evolve(with_types(OTHER_PET), branch=BRANCH)
    repo.evolve(SCHEMA, branch=BRANCH)
    repo.evolve(with_types(PET), branch=BRANCH)
    pinned = repo.snapshot().tables["node:Pet"]
    assert Table.open(f"{repo.uri}/{pinned.table_path}").version == pinned.table_version


def test_a_type_that_is_dropped_on_a_branch_comes_back_empty(repo: Repository, native: str) -> None:
    """Main keeps its rows meanwhile, and whatever main does later stays its own."""
    without = with_types(without=("node:Person", "edge:Knows", "edge:Works"))
    for _ in range(2):
        repo.evolve(without, branch=BRANCH)
        assert set(repo.snapshot(BRANCH).tables) == {"node:Company"}
        with repo.transaction() as tx:
            tx.upsert("node:Person", [{"id": "a", "name": "Anna", "age": 5}])
        repo.evolve(SCHEMA, branch=BRANCH)
        assert rows(repo, "node:Person", BRANCH) == []
        with repo.transaction(branch=BRANCH) as tx:
            tx.append("node:Person", [{"id": "n", "name": "N", "age": 1}])
        assert [row["id"] for row in rows(repo, "node:Person", BRANCH)] == ["n"]
    assert [row["name"] for row in rows(repo, "node:Person")] == ["Anna", "Bob"]


def test_a_type_is_dropped_that_another_branch_took_far(repo: Repository, native: str) -> None:
    """A branch of a branch drops it: the next version is above that of the branch, not of main."""
    for turn in range(6):
        with repo.transaction(branch=BRANCH) as tx:
            tx.upsert("node:Company", [{"id": f"c{turn}", "name": "C"}])
    branched(repo, "deeper", of=BRANCH)
    far = repo.snapshot("deeper").tables["node:Company"].table_version
    repo.evolve(with_types(without=("node:Company", "edge:Works")), branch="deeper")
    assert Table.open(f"{repo.uri}/{table_path('node:Company')}").version < far
    repo.evolve(with_types(EdgeType("Works", "Person", "Company")), branch="deeper")
    entry = repo.snapshot("deeper").tables["node:Company"]
    assert entry.table_version > far + 1
    assert rows(repo, "node:Company", "deeper") == []
    assert len(rows(repo, "node:Company", BRANCH)) == 7
    assert len(rows(repo, "node:Company")) == 1


def test_ends_change_on_one_branch_only(repo: Repository, native: str) -> None:
    """Each branch checks edges against its own."""
    repo.evolve(with_types(EdgeType("Works", "Company", "Person")), branch=BRANCH)
    with repo.transaction() as tx:
        tx.append("edge:Works", [{"id": "w", "src": "a", "dst": "c"}])
    with repo.transaction(branch=BRANCH) as tx:
        tx.append("edge:Works", [{"id": "w", "src": "c", "dst": "a"}])
    with pytest.raises(DanglingEdges), repo.transaction(branch=BRANCH) as tx:
        tx.append("edge:Works", [{"id": "v", "src": "a", "dst": "c"}])
    assert like(repo.snapshot().schema) == like(SCHEMA)


def test_what_a_dead_writer_left_on_the_branch_is_not_seen(repo: Repository, native: str) -> None:
    """A fork with rows that nobody published is restored, or emptied."""
    entry = repo.snapshot(BRANCH).tables["node:Person"]
    fork = Table.open(f"{repo.uri}/{entry.table_path}", version=entry.table_version).fork(native)
    fork.append(pa.table({"id": ["x"], "name": ["X"], "age": [1]}, schema=fork.schema))
    repo.evolve(
        with_types(NodeType("Person", {**PERSON.properties, "q": pa.int8()})), branch=BRANCH
    )
    assert [row["id"] for row in rows(repo, "node:Person", BRANCH)] == ["a", "b"]
