"""Processes that do the same to runs at the same time."""

from __future__ import annotations

import pytest
from racing import race
from runwork import (
    AFTER_WORK,
    COMPANY,
    OPERATION,
    ages,
    ids,
    left_behind,
    race_to_begin,
    race_to_publish,
    run_until_published,
    work,
)

from omnigraph_l2 import Repository

pytestmark = pytest.mark.integration


def test_several_publish_one_run(repo: Repository) -> None:
    """All are given the same commit, and there is one."""
    options = repo._root.storage.lance_options
    for number in range(2):
        run = repo.runs.begin()
        work(run)
        before = len(repo.log())
        found = race(race_to_publish, [(repo.uri, options, run.run_id)] * 3)
        assert found == [run.run_id] * 3, number
        assert len(repo.log()) == before + 1
        assert ages(repo) == AFTER_WORK
        with repo.transaction() as tx:
            tx.delete(COMPANY, "true")
    assert ids(repo, COMPANY) == []


def test_several_begin_one_operation(repo: Repository) -> None:
    """All are given the same run; the others leave nothing behind."""
    options = repo._root.storage.lance_options
    found = race(race_to_begin, [(repo.uri, options)] * 3)
    assert len(set(found)) == 1
    run = repo.runs.begin(operation_hash=OPERATION)
    assert run.run_id == found[0]
    assert [each.run_id for each in repo.runs.list()] == [run.run_id]
    if options is None or not repo.uri.startswith("s3:"):
        assert left_behind(repo) <= {run.branch}


def test_runs_that_count_up_one_row(local: Repository) -> None:
    """Each of them publishes once; none is lost, as in some serial order."""
    race(run_until_published, [(local.uri, number) for number in range(4)])
    assert ages(local)["ann"] == 1 + 4
    actors = {commit.actor_id for commit in local.log(limit=4)}
    assert actors == {f"p{number}" for number in range(4)}
    parents = [commit.parent_commit_id for commit in local.log()]
    assert parents == [commit.graph_commit_id for commit in local.log()[1:]] + [None]
