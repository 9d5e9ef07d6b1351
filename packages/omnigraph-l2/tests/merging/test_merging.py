"""Merging as its users meet it: what is there then, in which history, and what cannot be merged."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from conflicting import conflicts, kinds
from mergework import COMPANY, PERSON, START, ages, put

from omnigraph_l2 import MergeKind, Repository
from omnigraph_l2.errors import InvalidRequest, UnknownBranch, UnknownReference


def test_going_forward(anywhere: Repository) -> None:
    """The target had not moved: it shows what the branch shows, as one commit with two parents."""
    repo = anywhere
    before = repo.log(limit=1)[0]
    made = put(repo, "side", ann=2, dan=4, cat=None)
    assert made is not None
    shown = repo.branches.merge("side", dry_run=True)
    assert repo.log(limit=1) == [before]
    result = repo.branches.merge("side", actor="eve", message="all of it")
    assert result.kind is shown.kind is MergeKind.FAST_FORWARD
    assert result.tables == shown.tables
    told = result.tables[PERSON]
    assert (told.inserted, told.updated, told.deleted) == (1, 1, 1)
    commit = result.commit
    assert commit == repo.log(limit=1)[0]
    assert commit is not None
    assert (commit.parent_commit_id, commit.merged_parent_commit_id) == (
        before.graph_commit_id,
        made.graph_commit_id,
    )
    assert (commit.actor_id, commit.message) == ("eve", "all of it")
    assert result.base_commit_id == before.graph_commit_id
    assert ages(repo) == {"ann": 2, "bob": 1, "dan": 4} == ages(repo, "side")
    assert repo.snapshot().tables[PERSON].table_branch is None


def test_both_moved(anywhere: Repository) -> None:
    """The changes of both are there, also where both did the same."""
    repo = anywhere
    put(repo, "side", ann=2, eve=5)
    put(repo, "main", bob=3, eve=5, cat=None)
    result = repo.branches.merge("side")
    assert result.kind is MergeKind.MERGED
    told = result.tables[PERSON]
    assert (told.inserted, told.updated, told.deleted) == (0, 1, 0)
    assert ages(repo) == {"ann": 2, "bob": 3, "eve": 5}
    assert ages(repo, "side") == {**START, "ann": 2, "eve": 5}


def test_merging_again(repo: Repository) -> None:
    """What was merged is the base from then on; nothing new is nothing written."""
    put(repo, "side", ann=2)
    put(repo, "main", bob=3)
    repo.branches.merge("side")
    version = repo.snapshot().version
    again = repo.branches.merge("side")
    assert (again.kind, again.commit) == (MergeKind.ALREADY_UP_TO_DATE, None)
    assert repo.branches.merge("main").kind is MergeKind.ALREADY_UP_TO_DATE
    assert repo.snapshot().version == version
    put(repo, "main", ann=7)
    put(repo, "side", cat=8)
    assert repo.branches.merge("side").kind is MergeKind.MERGED
    assert ages(repo) == {"ann": 7, "bob": 3, "cat": 8}


def test_two_that_went_forward_to_each_other(repo: Repository) -> None:
    """Are alike: merging them once more writes nothing."""
    put(repo, "side", ann=2)
    assert repo.branches.merge("side").kind is MergeKind.FAST_FORWARD
    for source, into in (("main", "side"), ("side", "main"), ("main", "side")):
        result = repo.branches.merge(source, into)
        assert (result.kind, result.commit) == (MergeKind.ALREADY_UP_TO_DATE, None)


def test_versions_that_are_handed_over(repo: Repository) -> None:
    """Bringing a branch up to date costs nothing where it has not touched a table."""
    put(repo, "main", ann=2)
    put(repo, "side", COMPANY, other={"name": "Other"})
    result = repo.branches.merge("main", "side")
    told = result.tables[PERSON]
    assert (told.inserted, told.updated, told.deleted) == (None, None, None)
    assert repo.snapshot("side").tables[PERSON] == repo.snapshot().tables[PERSON]
    put(repo, "side", bob=3)
    assert ages(repo, "side") == {**START, "ann": 2, "bob": 3}
    put(repo, "main", cat=4)
    repo.branches.merge("main", "side")
    repo.branches.merge("side")
    assert ages(repo) == ages(repo, "side") == {"ann": 2, "bob": 3, "cat": 4}


def test_branches_of_branches(repo: Repository) -> None:
    """Also into its parent's other child: what the two have in common is found."""
    put(repo, "side", ann=2)
    repo.branches.create("kid", "side")
    repo.branches.create("other")
    put(repo, "kid", bob=3)
    put(repo, "other", cat=4)
    result = repo.branches.merge("kid", "other")
    assert result.kind is MergeKind.MERGED
    assert ages(repo, "other") == {"ann": 2, "bob": 3, "cat": 4}
    repo.branches.merge("side")
    assert repo.branches.merge("other").kind is MergeKind.MERGED
    assert ages(repo) == {"ann": 2, "bob": 3, "cat": 4}


def test_sides_that_merged_each_other_crosswise(repo: Repository) -> None:
    """What was agreed on in both bases is the base; nobody's change comes back."""
    put(repo, "side", ann=2)
    put(repo, "main", bob=3)
    ours, theirs = repo.log()[0].graph_commit_id, repo.log("side")[0].graph_commit_id
    repo.branches.merge(theirs)
    repo.branches.merge(ours, "side")
    put(repo, "side", ann=7)
    put(repo, "main", cat=8)
    repo.branches.merge("side")
    assert ages(repo) == {"ann": 7, "bob": 3, "cat": 8}


@pytest.mark.parametrize("cleaned", [False, True])
@pytest.mark.usefixtures("lease_at_once")
def test_what_a_crosswise_base_came_from_was_cleaned_up(repo: Repository, *, cleaned: bool) -> None:
    """Rows in which the bases differ, and the sides too, are conflicts then; all others merge."""
    for turn in range(2):
        put(repo, "side", ann=2 + turn)
        put(repo, "main", bob=4 + turn)
        ours, theirs = repo.log()[0].graph_commit_id, repo.log("side")[0].graph_commit_id
        repo.branches.merge(theirs)
        repo.branches.merge(ours, "side")
    put(repo, "side", ann=9)
    put(repo, "main", cat=10)
    if cleaned:
        repo._clock = repo._leases._clock = lambda: datetime.now(timezone.utc) + timedelta(days=8)
        repo._leases.renew()
        assert repo.cleanup(timedelta(), dry_run=False).table_versions.count > 0
        assert kinds(conflicts(repo)) == {"ann": "divergent_update"}
    repo.branches.merge("side", strategy="theirs" if cleaned else "error")
    assert ages(repo) == {"ann": 9, "bob": 5, "cat": 10}


@pytest.mark.parametrize("tag", ["kept", None])
def test_a_branch_that_is_gone_since_both_merged_it(repo: Repository, tag: str | None) -> None:
    """What both come from cannot be read: rows that differ are conflicts, none is guessed; unless
    a tag keeps it.
    """
    repo.branches.create("other")
    put(repo, "side", ann=2)
    put(repo, "main", bob=3)
    put(repo, "other", cat=4)
    repo.branches.merge("side")
    repo.branches.merge("side", "other")
    put(repo, "other", ann=1)
    if tag is not None:
        repo.tags.create(tag, "side")
    repo.branches.delete("side", force=tag is not None)
    if tag is not None:
        repo.branches.merge("other")
        assert ages(repo) == {"ann": 1, "bob": 3, "cat": 4}
        return
    assert kinds(conflicts(repo, "other")) == dict.fromkeys(
        ("ann", "bob", "cat"), "divergent_update"
    )
    result = repo.branches.merge("other", strategy="theirs")
    assert result.base_commit_id is None
    assert ages(repo) == {"ann": 1, "bob": 1, "cat": 4}


def test_a_merge_is_younger_than_what_it_merged(repo: Repository) -> None:
    """Whatever the clocks of those who wrote say: by that the base of the next one is found."""
    right = repo._clock
    repo._clock = lambda: right() + timedelta(days=1)
    put(repo, "side", ann=2)
    repo._clock = right
    commit = repo.branches.merge("side").commit
    assert commit is not None
    assert commit.created_at > repo.log("side")[0].created_at


def test_merging_a_tag_or_a_commit(repo: Repository) -> None:
    """Up to there, and no further."""
    made = put(repo, "side", ann=2)
    assert made is not None
    put(repo, "side", bob=3)
    repo.tags.create("good", made.graph_commit_id)
    assert repo.branches.merge("good").kind is MergeKind.FAST_FORWARD
    assert ages(repo) == {**START, "ann": 2}
    assert repo.branches.merge(made.graph_commit_id).kind is MergeKind.ALREADY_UP_TO_DATE


def test_what_cannot_be_merged(repo: Repository) -> None:
    """Typed errors, before anything is done."""
    with pytest.raises(UnknownReference):
        repo.branches.merge("nobody")
    with pytest.raises(UnknownBranch):
        repo.branches.merge("side", "nobody")
    with pytest.raises(InvalidRequest, match="strategy"):
        repo.branches.merge("side", strategy="mine")  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="message"):
        repo.branches.merge("side", message=3)  # type: ignore[arg-type]
    run = repo.runs.begin()
    with pytest.raises(InvalidRequest, match="run"):
        repo.branches.merge("side", run.branch)


def test_the_steps_of_a_run_are_not_merged(repo: Repository) -> None:
    """Only the run publishes them: neither their ids nor a snapshot of them lets anybody else."""
    run = repo.runs.begin()
    with run.transaction() as tx:
        tx.append(PERSON, [{"id": "step", "age": 1, "city": "Oslo"}])
    assert tx.commit is not None
    step = tx.commit.graph_commit_id
    for named in (step, run.snapshot()):
        with pytest.raises(InvalidRequest, match="step of a run"):
            repo.branches.merge(named)
    with pytest.raises(InvalidRequest, match="step of a run"):
        repo.revert(step)
    assert ages(repo) == START
    run.publish()
    assert ages(repo) == {**START, "step": 1}
