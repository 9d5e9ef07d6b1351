"""What a branch that was deleted leaves to those that have merged it, or started from it.

Its commits stay known, so that no merge takes an older moment for what two sides have in common;
its data stays as long as somebody stands on it.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from mergework import COMPANY, KNOWS, PERSON, SCHEMA, filled, put, rows
from sizes import sized

from omnigraph_l2 import MergeKind, Repository
from omnigraph_l2.errors import (
    AccessDenied,
    MergeConflict,
    MergeConflicts,
    UnknownBranch,
    UnknownReference,
)
from omnigraph_testing import Answer, FaultyS3, Rule


def ages(repo: Repository, branch: str) -> dict[str, int]:
    """Read the age of everybody."""
    return {name: row["age"] for name, row in sorted(rows(repo, branch=branch).items())}


def test_who_merged_it_at_different_times(anywhere: Repository) -> None:
    """What one of them changed back since is no change of the other."""
    for name in ("gone", "early", "late"):
        anywhere.branches.create(name)
    put(anywhere, "gone", ann=2)
    anywhere.branches.merge("gone", "early")
    put(anywhere, "gone", bob=2)
    anywhere.branches.merge("gone", "late")
    put(anywhere, "early", ann=1)
    anywhere.branches.delete("gone")
    with pytest.raises(MergeConflicts) as conflicts:
        anywhere.branches.merge("late", "early")
    assert {each.row_id for each in conflicts.value.conflicts} == {"ann", "bob"}
    assert ages(anywhere, "early") == {"ann": 1, "bob": 1, "cat": 1}


def test_what_came_in_through_it(repo: Repository) -> None:
    """It had merged main itself: that is the base, although only it told so."""
    repo.branches.create("gone")
    put(repo, "main", ann=2)
    repo.branches.merge("main", "gone")
    put(repo, "gone", dan=1)
    repo.branches.merge("gone", "side")
    put(repo, "side", ann=1)
    repo.branches.delete("gone")
    repo.branches.merge("side")
    assert ages(repo, "main") == {"ann": 1, "bob": 1, "cat": 1, "dan": 1}


def test_a_long_history_of_it(repo: Repository) -> None:
    """It is walked page by page, through several that are gone."""
    repo.branches.create("first")
    put(repo, "main", ann=2)
    repo.branches.merge("main", "first")
    for number in range(70):
        put(repo, "first", bob=number)
    repo.branches.create("second", "first")
    repo.branches.merge("second", "side")
    repo.branches.delete("first", force=True)
    more = sized(3, 70)
    for number in range(more):
        put(repo, "second", cat=number)
    repo.branches.merge("second", "side")
    repo.branches.delete("second")
    put(repo, "side", ann=1)
    repo.branches.merge("side")
    assert ages(repo, "main") == {"ann": 1, "bob": 69, "cat": more - 1}
    assert repo.verify().ok


def test_a_tag_keeps_what_a_merge_starts_from(repo: Repository) -> None:
    """Also where the tag is on a later commit, and on a branch that started from it."""
    repo.branches.create("gone")
    put(repo, "gone", ann=2)
    repo.branches.merge("gone", "side")
    repo.branches.merge("gone")
    put(repo, "gone", ann=3)
    repo.branches.create("child", "gone")
    put(repo, "child", ann=4)
    repo.tags.create("kept", "child")
    for name in ("child", "gone"):
        repo.branches.delete(name, force=True)
    put(repo, "side", bob=2)
    put(repo, "main", cat=2)
    assert repo.branches.merge("side").kind is MergeKind.MERGED
    assert ages(repo, "main") == {"ann": 2, "bob": 2, "cat": 2}


def test_starting_from_a_commit_that_somebody_stands_on(anywhere: Repository) -> None:
    """The branch that made it is gone, and what another one needs of it is there."""
    put(anywhere, "side", ann=2)
    commit = anywhere.log("side")[0].graph_commit_id
    put(anywhere, "side", ann=3)
    anywhere.branches.create("child", "side")
    late = put(anywhere, "side", ann=4)
    snapshot = anywhere.snapshot("child", commit=commit)
    anywhere.branches.delete("side", force=True)
    anywhere.branches.create("again", commit)
    anywhere.tags.create("then", commit)
    anywhere.tags.create("shown", snapshot)
    assert late is not None
    anywhere.branches.create("late", late.graph_commit_id)
    assert ages(anywhere, "again")["ann"] == 2
    assert ages(anywhere, "late")["ann"] == 4
    for tag in ("then", "shown"):
        found = anywhere.snapshot(tag=tag).read(PERSON, filter="id = 'ann'")
        assert found["age"].to_pylist() == [2]
    assert anywhere.verify().ok


def test_what_stays_of_it_alone(repo: Repository) -> None:
    """The log knows its commits; nothing starts from them, and its name is free."""
    made = put(repo, "side", ann=2)
    assert made is not None
    repo.branches.delete("side")
    assert repo.commit(made.graph_commit_id) == made
    with pytest.raises(UnknownReference):
        repo.branches.create("again", made.graph_commit_id)
    with pytest.raises(UnknownReference):
        repo.branches.merge(made.graph_commit_id)
    repo.branches.create("side")
    assert ages(repo, "side")["ann"] == 1
    assert rows(repo, KNOWS)


def test_it_goes_while_what_it_left_is_merged(repo: Repository) -> None:
    """It is as if it had gone before: rows that differ are conflicts, and none is guessed."""
    for name in ("gone", "other"):
        repo.branches.create(name)
    put(repo, "gone", ann=2)
    repo.branches.merge("gone")
    repo.branches.merge("gone", "other")
    put(repo, "other", ann=3)
    for number, branch in enumerate(("main", "other")):
        put(repo, branch, COMPANY, co={"name": f"Co {number}"})
    asked: list[tuple[str, bool]] = []

    def theirs(conflict: MergeConflict) -> object:
        if not asked:
            repo.branches.delete("gone")
        asked.append((conflict.table_key, conflict.base is None))
        return conflict.theirs

    result = repo.branches.merge("other", strategy=theirs)
    assert asked == [(COMPANY, False), (COMPANY, True), (PERSON, True)]
    assert result.base_commit_id is None
    assert ages(repo, "main")["ann"] == 3


@pytest.mark.integration
@pytest.mark.usefixtures("lease_at_once")
def test_its_commits_cannot_be_written_down(faulty_s3: FaultyS3) -> None:
    """Then it stays, to be read only, until the next cleanup finishes its deletion."""
    no_more = Rule(Answer(403), key="*/_graph_commits_kept.lance/*")
    uri, options = faulty_s3.uri("repo"), faulty_s3.storage_options
    with filled(Repository.init(uri, SCHEMA, options)) as repo:
        repo.branches.create("side")
        put(repo, "side", ann=2)
        commit = repo.log("side")[0]
        faulty_s3.inject(no_more)
        with pytest.raises(AccessDenied):
            repo.branches.delete("side")
        assert rows(repo, branch="side")["ann"]["age"] == 2
        with pytest.raises(UnknownBranch):
            put(repo, "side", ann=3)
        with pytest.raises(AccessDenied):
            repo.cleanup(timedelta(), dry_run=False)
        assert repo.log("side")[0] == commit
        faulty_s3.clear()
        repo.cleanup(timedelta(), dry_run=False)
        assert [each.name for each in repo.branches.list()] == ["main"]
        assert repo.commit(commit.graph_commit_id) == commit
