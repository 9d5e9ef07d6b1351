"""Branches that another publisher made, and repositories as it leaves them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from branchwork import ids_of_log
from small_graph import PERSON, append, native_branches, people

from omnigraph_l1 import Table
from omnigraph_l2 import Repository
from omnigraph_l2.errors import BranchExists, BranchInUse, UnknownBranch


def theirs(repo: Repository, name: str) -> None:
    """Make a branch as another publisher does: natively, and nothing else."""
    repo.flush()
    for path in ("_graph_commits.lance", "__manifest"):
        Table.open(Path(repo.uri) / path, durability="none").fork(name)


def test_it_is_seen_and_written_to(local: Repository) -> None:
    """Under its own name, with its history; main is not touched."""
    before = ids_of_log(local, "main")
    theirs(local, "feature/x")
    found = local.branches.get("feature/x")
    assert (found.native_branch, found.parent_branch) == ("feature/x", "main")
    assert found.head_commit_id == before[0]
    assert [each.name for each in local.branches.list()] == ["main", "feature/x"]
    mine = append(local, "cat", branch="feature/x")
    assert people(local, "feature/x") == "ann bob cat"
    assert people(local) == "ann bob"
    assert local.snapshot("feature/x").tables[PERSON].table_branch == "feature/x"
    assert ids_of_log(local, "feature/x") == [mine.graph_commit_id, *before]
    with Repository.open(local.uri, durability="none") as other:
        assert other.commit(mine.graph_commit_id).manifest_branch == "feature/x"


def test_others_start_from_it(local: Repository) -> None:
    """Branches and runs; then it is in use."""
    theirs(local, "base")
    append(local, "cat", branch="base")
    local.branches.create("kid", "base")
    run = local.runs.begin("base")
    with run.transaction() as tx:
        tx.append(PERSON, [{"id": "dan"}])
    with pytest.raises(BranchInUse) as told:
        local.branches.delete("base")
    assert (told.value.children, told.value.runs) == (("kid",), (run.run_id,))
    run.publish()
    assert (people(local, "base"), people(local, "kid")) == ("ann bob cat dan", "ann bob cat")
    with pytest.raises(BranchInUse):
        local.branches.delete("base", force=True)
    assert people(local, "kid") == "ann bob cat"


def test_it_can_be_deleted(local: Repository) -> None:
    """It is gone in every dataset, and its name can be ours."""
    theirs(local, "old")
    append(local, "cat", branch="old")
    with pytest.raises(BranchExists):
        local.branches.create("old")
    local.branches.delete("old")
    for path in ("__manifest", "_graph_commits.lance", local.snapshot().tables[PERSON].table_path):
        assert native_branches(local, path) == set()
    with pytest.raises(UnknownBranch):
        local.branches.delete("old")
    local.branches.create("old")
    assert people(local, "old") == "ann bob"


def test_a_handle_on_it_that_was_deleted_refuses_to_write(local: Repository) -> None:
    """Also where another publisher made it again under the very same native name."""
    theirs(local, "old")
    append(local, "cat", branch="old")
    tx = local.transaction("old").__enter__()
    tx.append(PERSON, [{"id": "late"}])
    with Repository.open(local.uri, durability="none") as other:
        other.branches.delete("old")
        theirs(other, "old")
        append(other, "dan", branch="old")
    with pytest.raises(UnknownBranch):
        tx.__exit__(None, None, None)
    with Repository.open(local.uri, durability="none") as other:
        assert people(other, "old") == "ann bob dan"


def test_internal_branches_are_not_listed(local: Repository) -> None:
    """Its runs and its lock are hidden; the lock is no branch at all."""
    theirs(local, "__run__01ARZ3NDEKTSV4RRFFQ69G5FAV")
    theirs(local, "__schema_apply_lock__")
    assert [each.name for each in local.branches.list()] == ["main"]
    with pytest.raises(UnknownBranch):
        local.snapshot("__schema_apply_lock__")


def test_leftovers_of_ours_are_no_branches(local: Repository) -> None:
    """A native branch with a ULID and without a pointer is what a crash left."""
    theirs(local, "side.01hzzzzzzzzzzzzzzzzzzzzzzz")
    assert [each.name for each in local.branches.list()] == ["main"]
    with pytest.raises(UnknownBranch):
        local.snapshot("side.01hzzzzzzzzzzzzzzzzzzzzzzz")


def test_a_repository_without_refs(local: Repository) -> None:
    """It has main, branches can be made in it, and runs."""
    local.flush()
    shutil.rmtree(Path(local.uri) / "_refs")
    with Repository.open(local.uri, durability="none") as repo:
        (main,) = repo.branches.list()
        assert (main.name, main.head_commit_id) == ("main", repo.log()[0].graph_commit_id)
        repo.branches.create("side")
        append(repo, "cat", branch="side")
        assert people(repo, "side") == "ann bob cat"
        assert repo.runs.begin(operation_hash="op").publish() is None
