"""Merges and reverts that are killed: the target is before or after, and the next one ends it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from killing import each_step
from mergework import COMPANY, KNOWS, PERSON, ages, diverged, merge_side, put, revert_newest, rows
from sizes import commit_seed

from campaign.traced_crash import TracedCrash
from omnigraph_l1 import failpoints
from omnigraph_l2 import MergeKind, Repository
from omnigraph_testing import Crash

pytestmark = pytest.mark.integration

BEFORE = ({"ann": 1, "bob": 3, "cat": 1}, {"ab"}, {PERSON, KNOWS, COMPANY, "edge:Works"})
AFTER = ({"ann": 2, "bob": 3, "dan": 4}, {"ab", "ad"}, {PERSON, KNOWS, COMPANY, "node:Pet"})


def merged(location: Path) -> Sequence[str]:
    """Make a repository whose newest commit is a merge."""
    (uri,) = diverged(location)
    merge_side(uri)
    return [uri]


def content(repo: Repository) -> tuple[dict[str, int], set[str], set[str]]:
    """Tell all that the merge changes."""
    return ages(repo), set(rows(repo, KNOWS)), set(repo.snapshot().tables)


def assert_before_or_after(repo: Repository, message: str) -> bool:
    """See that it happened as a whole or not at all; tell whether it did."""
    now = content(repo)
    assert now in (BEFORE, AFTER), message
    if now == AFTER:
        assert rows(repo, "node:Pet") == {"rex": {"id": "rex", "name": "Rex"}}, message
    return now == AFTER


def ends_a_merge(uri: str, message: str) -> bool:
    """Go on after a merge that was killed."""
    with Repository.open(uri, durability="none") as repo:
        happened = assert_before_or_after(repo, message)
        put(repo, "main", COMPANY, mine={"name": "Mine"})
        result = repo.branches.merge("side")
        assert (result.kind is MergeKind.ALREADY_UP_TO_DATE) == happened, message
        assert content(repo) == AFTER, message
        assert set(rows(repo, COMPANY)) == {"co", "mine"}, message
        merges = [each for each in repo.log() if each.merged_parent_commit_id]
        assert len(merges) == 1, message
    return happened


def ends_a_revert(uri: str, message: str) -> bool:
    """Go on after a revert that was killed."""
    with Repository.open(uri, durability="none") as repo:
        happened = not assert_before_or_after(repo, message)
        merge = next(each for each in repo.log() if each.merged_parent_commit_id)
        assert (repo.revert(merge.graph_commit_id) is None) == happened, message
        assert content(repo) == BEFORE, message
        put(repo, "main", dan=9)
        assert ages(repo)["dan"] == 9, message
    return happened


MERGE = pytest.param(merge_side, diverged, ends_a_merge, id="merge")
REVERT = pytest.param(revert_newest, merged, ends_a_revert, id="revert", marks=pytest.mark.slow)


@pytest.mark.parametrize(("job", "prepare", "ends"), [MERGE, REVERT])
def test_killed_at_each_named_step(
    omnigraph_crash: Crash, job: Any, prepare: Any, ends: Callable[[str, str], bool]
) -> None:
    """SIGKILL at each kind of step of ours."""
    killed = each_step(omnigraph_crash, job, prepare)
    assert {ends(uri, point) for point, (uri,) in killed} == {True, False}


@pytest.mark.parametrize("limit", [2, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("job", "prepare", "ends"), [MERGE, REVERT])
def test_killed_at_file_operations(
    traced_crash: TracedCrash, job: Any, prepare: Any, ends: Callable[[str, str], bool], limit: int
) -> None:
    """SIGKILL before a file operation, also those that have no name."""
    for crashed in traced_crash.everywhere(
        job, prepare=prepare, by="file operations", limit=limit, seed=commit_seed()
    ):
        ends(crashed.arguments[0], str(crashed))


def test_every_declared_point_is_passed(omnigraph_crash: Crash) -> None:
    """A step that no test is killed at would not be proven."""
    passed = set(omnigraph_crash.points(merge_side, *diverged(omnigraph_crash.directory)))
    declared = {name for name in failpoints.declared() if name.startswith("l2.merge.")}
    assert declared
    assert passed >= declared
