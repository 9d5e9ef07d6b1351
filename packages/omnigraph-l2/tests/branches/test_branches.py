"""Branches: what creating, listing and deleting promise."""

from __future__ import annotations

from datetime import timedelta

import pytest
from branchwork import KNOWS, ids_of_log
from each_store import S3_AT_NIGHT
from small_graph import PERSON, append, people

from omnigraph_l2 import Repository
from omnigraph_l2.errors import (
    BranchExists,
    BranchInUse,
    ExpectedVersionMismatch,
    InvalidBranchName,
    InvalidRequest,
    UnknownBranch,
    UnknownCommit,
    UnknownReference,
    UnknownVersion,
)


def test_a_branch_starts_as_its_source_and_goes_its_own_way(repo: Repository) -> None:
    """What is written on one side is not seen on the other."""
    made = repo.branches.create("what/if")
    assert people(repo, "what/if") == "ann bob"
    append(repo, "cat", branch="what/if")
    append(repo, "dan")
    assert people(repo, "what/if") == "ann bob cat"
    assert people(repo) == "ann bob dan"
    assert (made.name, made.parent_branch) == ("what/if", "main")
    assert repo.snapshot().tables[PERSON].table_branch is None
    assert repo.snapshot("what/if").tables[PERSON].table_branch == made.native_branch
    assert repo.snapshot("what/if").tables[KNOWS].table_branch is None


@S3_AT_NIGHT
def test_what_every_operation_does_on_a_branch(repo: Repository) -> None:
    """Upsert, delete and overwrite, with what was there before, and edges checked."""
    repo.branches.create("side")
    with repo.transaction("side") as tx:
        tx.upsert(PERSON, [{"id": "ann", "age": 5}, {"id": "cat", "age": 2}])
        tx.delete(PERSON, ids=["bob"])
        tx.append(KNOWS, [{"id": "e", "src": "ann", "dst": "cat"}])
    rows = {row["id"]: row["age"] for row in repo.snapshot("side").read(PERSON).to_pylist()}
    assert rows == {"ann": 5, "cat": 2}
    with repo.transaction("side") as tx:
        tx.overwrite(KNOWS, [])
        tx.overwrite(PERSON, [{"id": "zoe"}])
    assert people(repo, "side") == "zoe"
    assert people(repo) == "ann bob"


def test_a_branch_of_a_branch(repo: Repository) -> None:
    """Three deep; each starts at what its parent had."""
    for parent, name in (("main", "a"), ("a", "b"), ("b", "c")):
        repo.branches.create(name, parent)
        append(repo, f"on-{name}", branch=name)
    assert people(repo, "c") == "ann bob on-a on-b on-c"
    assert people(repo, "a") == "ann bob on-a"


@S3_AT_NIGHT
def test_the_log_of_a_branch_goes_back_through_its_parent(repo: Repository) -> None:
    """One chain of parents, no commit of the parent that came after the start."""
    before = ids_of_log(repo, "main")
    repo.branches.create("side")
    append(repo, "later")
    mine = append(repo, "cat", branch="side")
    assert ids_of_log(repo, "side") == [mine.graph_commit_id, *before]
    repo.flush()
    assert [each.parent_commit_id for each in repo.log("side")] == [*before, None]
    with Repository.open(repo.uri, repo._root.storage.lance_options, durability="none") as other:
        assert ids_of_log(other, "side") == [mine.graph_commit_id, *before]


def test_a_branch_from_a_commit(repo: Repository) -> None:
    """It has what the commit left, and its log ends there."""
    first = repo.log()[0]
    append(repo, "late")
    repo.flush()
    made = repo.branches.create("old", first.graph_commit_id)
    logged = repo._root.open("_graph_commits.lance", branch=made.native_branch).read()
    assert max(logged["manifest_version"].to_pylist()) == first.manifest_version
    assert people(repo, "old") == "ann bob"
    assert repo.log("old") == repo.log()[1:]
    assert repo.log("old")[0] == first
    append(repo, "new", branch="old")
    assert people(repo, "old") == "ann bob new"


@S3_AT_NIGHT
def test_a_branch_from_a_commit_of_another_branch(repo: Repository) -> None:
    """A commit is found on whatever branch it was made."""
    repo.branches.create("a")
    middle = append(repo, "cat", branch="a")
    append(repo, "dan", branch="a")
    made = repo.branches.create("b", middle.graph_commit_id)
    assert made.parent_branch == "a"
    assert people(repo, "b") == "ann bob cat"


@S3_AT_NIGHT
def test_a_branch_from_a_snapshot(repo: Repository) -> None:
    """It is what the snapshot shows, whatever came after."""
    snapshot = repo.snapshot()
    append(repo, "late")
    repo.branches.create("then", snapshot)
    assert people(repo, "then") == "ann bob"


def test_commits_are_found_on_any_branch(repo: Repository) -> None:
    """``repo.commit`` and a snapshot of a commit need no branch, also after it was deleted."""
    early = repo.log()[0]
    repo.branches.create("side")
    mine = append(repo, "cat", branch="side")
    with Repository.open(repo.uri, repo._root.storage.lance_options, durability="none") as other:
        assert other.commit(mine.graph_commit_id) == mine
        found = other.snapshot(commit=mine.graph_commit_id)
        assert (found.branch, found.commit) == ("side", mine)
        assert people(other, commit=mine.graph_commit_id) == "ann bob cat"
    with pytest.raises(UnknownCommit):
        repo.commit("01ARZ3NDEKTSV4RRFFQ69G5FAV")
    append(repo, "late")
    assert people(repo, "side", commit=early.graph_commit_id) == "ann bob"
    assert people(repo, "side", as_of=mine.created_at - timedelta(microseconds=1)) == "ann bob"
    repo.tags.create("v1", mine.graph_commit_id)
    repo.branches.delete("side", force=True)
    assert people(repo, commit=mine.graph_commit_id) == "ann bob cat"
    repo.tags.delete("v1")
    with pytest.raises(UnknownCommit):
        repo.snapshot(commit=mine.graph_commit_id)


def test_listing_shows_heads(repo: Repository) -> None:
    """Main first, then by name; the head follows each publish."""
    repo.branches.create("z")
    repo.branches.create("a/b")
    mine = append(repo, "cat", branch="z")
    listed = {each.name: each for each in repo.branches.list()}
    assert list(listed) == ["main", "a/b", "z"]
    assert listed["z"].head_commit_id == mine.graph_commit_id
    assert listed["main"].head_commit_id == repo.log()[0].graph_commit_id
    assert repo.branches.get("z") == listed["z"]
    assert repo.branches.get("z").manifest_version == repo.snapshot("z").version


def test_deleting_frees_the_name(repo: Repository) -> None:
    """Gone at once; the same name again is another branch, and starts anew."""
    repo.branches.create("side")
    append(repo, "cat", branch="side")
    repo.branches.delete("side")
    for use in (repo.snapshot, repo.log, repo.branches.get, repo.branches.delete):
        with pytest.raises(UnknownBranch) as told:
            use("side")
        assert told.value.branch == "side"
    repo.branches.create("side")
    assert people(repo, "side") == "ann bob"
    append(repo, "dan", branch="side")
    assert people(repo, "side") == "ann bob dan"


def test_a_handle_on_a_deleted_branch_refuses_to_write(repo: Repository) -> None:
    """Also where the name is there again, made by another process. Nothing lands anywhere."""
    repo.branches.create("side")
    append(repo, "cat", branch="side")
    for recreate in (False, True):
        tx = repo.transaction("side").__enter__()
        tx.append(PERSON, [{"id": "late"}])
        options = repo._root.storage.lance_options
        with Repository.open(repo.uri, options, durability="none") as other:
            other.branches.delete("side")
            if recreate:
                other.branches.create("side")
        with pytest.raises(UnknownBranch) as told:
            tx.__exit__(None, None, None)
        assert told.value.branch == "side"
        if not recreate:
            repo.branches.create("side")
    assert people(repo, "side") == "ann bob"
    append(repo, "mine", branch="side")
    assert people(repo, "side") == "ann bob mine"


def test_a_branch_whose_data_outlives_its_name_refuses_writers(local: Repository) -> None:
    """Deleted by force under its children: the data stays for them, writers are refused."""
    local.branches.create("a")
    append(local, "cat", branch="a")
    local.branches.create("b", "a")
    tx = local.transaction("a").__enter__()
    tx.append(PERSON, [{"id": "late"}])
    local.branches.delete("a", force=True)
    with pytest.raises(UnknownBranch):
        tx.__exit__(None, None, None)
    assert people(local, "b") == "ann bob cat"
    append(local, "dan", branch="b")
    assert people(local, "b") == "ann bob cat dan"


def test_deleting_is_refused_with_children(repo: Repository) -> None:
    """They are named. Without them it goes."""
    repo.branches.create("a")
    repo.branches.create("b", "a")
    with pytest.raises(BranchInUse) as told:
        repo.branches.delete("a")
    assert (told.value.children, told.value.runs) == (("b",), ())
    repo.branches.delete("b")
    repo.branches.delete("a")
    assert [each.name for each in repo.branches.list()] == ["main"]


def test_a_child_of_an_earlier_branch_of_that_name_is_no_child(local: Repository) -> None:
    """A name means another branch after it was deleted and created again."""
    local.branches.create("a")
    local.branches.create("b", "a")
    local.branches.delete("a", force=True)
    local.branches.create("a")
    local.branches.delete("a")
    assert people(local, "b") == "ann bob"


@S3_AT_NIGHT
def test_what_cannot_be_created(repo: Repository) -> None:
    """A typed error, and nothing is left."""
    repo.branches.create("side")
    for taken in ("side", "main"):
        with pytest.raises(BranchExists):
            repo.branches.create(taken)
    for source in ("nope", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "__run__x", "__schema_apply_lock__"):
        with pytest.raises(UnknownReference) as told:
            repo.branches.create("new", source)
        assert told.value.reference == source
    with pytest.raises(InvalidRequest):
        repo.branches.create("new", 3.5)  # type: ignore[arg-type]
    with pytest.raises(UnknownVersion):
        repo.branches.create("new", 999)
    assert [each.name for each in repo.branches.list()] == ["main", "side"]


BAD_NAMES = [
    "", "a b", "a//b", "/a", "a/", "..", "a/../b", ".", "a.lock", "a\\b", "a%2Fb", "a\nb", "a:b",
    "main/x", "__run__x", "__schema_apply_lock__", "a.01hzzzzzzzzzzzzzzzzzzzzzzz", "x" * 300,
    "人" * 40, 3, None,
]  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
def test_names_that_break_the_rule(local: Repository, name: str) -> None:
    """Refused by name, with the rule, before anything is written; asked for, they are unknown."""
    with pytest.raises(InvalidBranchName) as told:
        local.branches.create(name)
    assert told.value.rule
    for use in (local.snapshot, local.branches.get):
        with pytest.raises(UnknownBranch if isinstance(name, str) else InvalidBranchName):
            use(name)
    assert [each.name for each in local.branches.list()] == ["main"]


@pytest.mark.parametrize(
    "name", ["a", "a.b", "A-1_x", "läuft", "人", "a/b/c", "x" * 150, "x/main", "mainly"]
)
def test_names_that_keep_it(local: Repository, name: str) -> None:
    """What the rule allows works from end to end."""
    local.branches.create(name)
    append(local, "cat", branch=name)
    assert people(local, name) == "ann bob cat"
    assert local.branches.get(name).name == name
    local.branches.delete(name)


@S3_AT_NIGHT
def test_main_stays(repo: Repository) -> None:
    """It cannot be deleted, and internal branches not in this way."""
    for name in ("main", "__run__x"):
        with pytest.raises(InvalidRequest):
            repo.branches.delete(name, force=True)
    assert people(repo) == "ann bob"


@S3_AT_NIGHT
def test_expectations_hold_on_a_branch(repo: Repository) -> None:
    """A table that changed on the branch breaks an expectation; one on main does not."""
    repo.branches.create("side")
    with repo.transaction("side") as tx:
        tx.expect(PERSON)
        append(repo, "dan")
        tx.append("node:Company", [{"id": "co"}])
    tx = repo.transaction("side").__enter__()
    tx.expect(PERSON)
    append(repo, "cat", branch="side")
    tx.append("node:Company", [{"id": "co2"}])
    with pytest.raises(ExpectedVersionMismatch):
        tx.__exit__(None, None, None)


def test_closing_after_a_branch_was_deleted(local: Repository) -> None:
    """Flushing passes over branches that are gone."""
    local.branches.create("side")
    append(local, "cat", branch="side")
    with Repository.open(local.uri, durability="none") as other:
        other.branches.delete("side")
    local.close()
    local.close()
