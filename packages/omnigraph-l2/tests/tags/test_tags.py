"""Tags: what creating, listing and deleting promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from each_store import S3_AT_NIGHT
from forced_order import meanwhile
from small_graph import append, people
from tagwork import names

from omnigraph_l2 import Repository
from omnigraph_l2.errors import (
    BranchInUse,
    CorruptRepository,
    InvalidRequest,
    InvalidTagName,
    TagExists,
    UnknownReference,
    UnknownTag,
)


def test_a_tag_names_a_commit_for_good(repo: Repository) -> None:
    """It shows what the commit left, whatever came after, to whoever opens the repository."""
    first = repo.log()[0]
    made = repo.tags.create("v1", actor="ann", message="the first release")
    append(repo, "cat")
    assert people(repo, tag="v1") == "ann bob"
    assert repo.snapshot(tag="v1").commit == first
    assert made.graph_commit_id == first.graph_commit_id
    assert (made.actor_id, made.message) == ("ann", "the first release")
    assert repo.tags.get("v1") == made
    options = repo._root.storage.lance_options
    with Repository.open(repo.uri, options, durability="none") as other:
        assert people(other, tag="v1") == "ann bob"
        assert other.tags.list() == [made]


@S3_AT_NIGHT
def test_what_can_be_tagged(repo: Repository) -> None:
    """A branch, a commit, another tag, a snapshot, a version; the very first commit too."""
    genesis, first = repo.log()[1], repo.log()[0]
    append(repo, "cat")
    repo.branches.create("side")
    append(repo, "dan", branch="side")
    for name, source, there in [
        ("genesis", genesis.graph_commit_id, ""),
        ("commit", first.graph_commit_id, "ann bob"),
        ("again", "commit", "ann bob"),
        ("snapshot", repo.snapshot(commit=first.graph_commit_id), "ann bob"),
        ("version", first.manifest_version, "ann bob"),
        ("branch", "side", "ann bob cat dan"),
    ]:
        repo.tags.create(name, source)
        assert people(repo, tag=name) == there, name
    sources = ["again", "branch", "commit", "genesis", "snapshot", "version"]
    assert names(repo) == sources
    assert repo.snapshot(tag="genesis").commit == genesis


@S3_AT_NIGHT
def test_a_branch_starts_at_a_tag(repo: Repository) -> None:
    """Its log ends with the commit of the tag, and it goes on from there."""
    first = repo.log()[0]
    repo.tags.create("v1")
    append(repo, "late")
    made = repo.branches.create("from-v1", "v1")
    assert made.head_commit_id == first.graph_commit_id
    assert repo.log("from-v1") == repo.log()[1:]
    append(repo, "new", branch="from-v1")
    assert people(repo, "from-v1") == "ann bob new"


@S3_AT_NIGHT
def test_a_tag_of_a_branch_that_has_no_commit_of_its_own(repo: Repository) -> None:
    """It is of the branch, which therefore stays; also where the parent is gone by then."""
    repo.branches.create("a")
    append(repo, "cat", branch="a")
    repo.branches.create("b", "a")
    repo.branches.delete("a", force=True)
    repo.tags.create("v1", "b")
    assert people(repo, tag="v1") == "ann bob cat"
    assert repo.snapshot(tag="v1").commit == repo.log("b")[0]


@S3_AT_NIGHT
def test_a_word_means_a_branch_before_a_tag(repo: Repository) -> None:
    """Where both have the name; ``tag=`` always means the tag."""
    repo.tags.create("x")
    append(repo, "cat")
    repo.branches.create("x")
    repo.branches.create("of-the-branch", "x")
    assert people(repo, "of-the-branch") == "ann bob cat"
    assert people(repo, tag="x") == "ann bob"


def test_a_tag_never_moves(repo: Repository) -> None:
    """Its name is free again only once it was deleted."""
    first = repo.tags.create("v1")
    append(repo, "cat")
    with pytest.raises(TagExists) as told:
        repo.tags.create("v1")
    assert told.value.tag == "v1"
    assert repo.tags.get("v1") == first
    repo.tags.delete("v1")
    assert names(repo) == []
    repo.tags.create("v1")
    assert people(repo, tag="v1") == "ann bob cat"


def test_a_name_that_somebody_takes_at_the_last_moment(repo: Repository) -> None:
    """Whoever comes second is told, and the tag goes on naming what it named."""
    first = repo.log()[0]
    append(repo, "cat")
    taking = meanwhile("l2.tag.checked", lambda: repo.tags.create("v1", first.graph_commit_id))
    with taking, pytest.raises(TagExists):
        repo.tags.create("v1")
    assert repo.tags.get("v1").graph_commit_id == first.graph_commit_id
    assert people(repo, tag="v1") == "ann bob"


@S3_AT_NIGHT
def test_what_is_not_there(repo: Repository) -> None:
    """A typed error that names it."""
    for use in (repo.tags.get, repo.tags.delete, lambda name: repo.snapshot(tag=name)):
        for name in ("nope", "a//b", ""):
            with pytest.raises(UnknownTag) as told:
                use(name)
            assert told.value.tag == name
    with pytest.raises(UnknownReference) as unknown:
        repo.tags.create("v1", "nope")
    assert unknown.value.reference == "nope"
    with pytest.raises(InvalidRequest):
        repo.snapshot(tag="v1", version=1)
    assert names(repo) == []


@pytest.mark.parametrize("name", ["", "a b", "../x", "__run__x", "x.lock", "x" * 300, 3, None])
def test_names_that_break_the_rule(local: Repository, name: Any) -> None:
    """Refused by name, with the rule, before anything is written."""
    with pytest.raises(InvalidTagName) as told:
        local.tags.create(name)
    assert told.value.rule
    assert names(local) == []


def test_the_step_of_a_run_is_no_commit_to_tag(local: Repository) -> None:
    """It goes with the run."""
    run = local.runs.begin()
    with run.transaction() as tx:
        tx.append("node:Person", [{"id": "cat"}])
    assert tx.commit is not None
    with pytest.raises(InvalidRequest):
        local.tags.create("v1", tx.commit.graph_commit_id)


def test_a_branch_with_tags_is_not_deleted(repo: Repository) -> None:
    """They are named. By force its name goes, and the tags stay readable, as do branches of it."""
    repo.branches.create("side")
    commit = append(repo, "cat", branch="side")
    repo.tags.create("v1", "side")
    append(repo, "dan", branch="side")
    with pytest.raises(BranchInUse) as told:
        repo.branches.delete("side")
    assert told.value.tags == ("v1",)
    repo.branches.delete("side", force=True)
    assert [each.name for each in repo.branches.list()] == ["main"]
    options = repo._root.storage.lance_options
    with Repository.open(repo.uri, options, durability="none") as other:
        assert people(other, tag="v1") == "ann bob cat"
        assert other.snapshot(tag="v1").commit == commit
        other.branches.create("again", "v1")
        other.branches.create("by-commit", commit.graph_commit_id)
        other.tags.create("v2", other.snapshot(tag="v1"))
        append(other, "eve", branch="again")
        assert people(other, "again") == "ann bob cat eve"
    repo.branches.create("side")
    assert people(repo, "side") == "ann bob"
    assert people(repo, tag="v2") == "ann bob cat"


def test_tags_on_other_branches_are_in_nobodys_way(local: Repository) -> None:
    """A tag of what the branch took over from main does not hold the branch."""
    local.branches.create("side")
    append(local, "cat", branch="side")
    local.tags.create("v1", local.log("side")[1].graph_commit_id)
    local.branches.delete("side")
    assert people(local, tag="v1") == "ann bob"


DAMAGE: dict[str, Any] = {
    "format": 7, "graph_commit_id": 3, "manifest_version": "x", "created_at": "then",
    "sequence": True, "native_branch": "gone.01arz3ndektsv4rrffq69g5fav",
}  # fmt: skip


@pytest.mark.parametrize("key", DAMAGE)
def test_a_damaged_tag_is_told_and_can_be_deleted(local: Repository, key: str) -> None:
    """By its name; other tags are as they were."""
    local.tags.create("v1")
    local.tags.create("v2")
    file = Path(local.uri) / "_refs" / "tags" / "v1.json"
    document = json.loads(file.read_text())
    assert document["format"] == 1
    document[key] = DAMAGE[key]
    file.write_text(json.dumps(document))
    with pytest.raises(CorruptRepository) as told:
        local.snapshot(tag="v1")
    assert told.value.item == "tag v1"
    assert people(local, tag="v2") == "ann bob"
    local.tags.delete("v1")
    assert names(local) == ["v2"]
