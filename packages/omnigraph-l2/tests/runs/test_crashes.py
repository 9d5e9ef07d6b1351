"""Processes killed in the middle of a run: it is resumed, ended or left, and blocks nobody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from killing import each_step, killed_at, steps_of
from runwork import (
    AFTER_WORK,
    COMPANY,
    OPERATION,
    PERSON,
    TOWN,
    abort,
    ages,
    begin,
    do_work,
    fail,
    fill,
    fill_with_moved_target,
    fill_with_run,
    ids,
    left_behind,
    publish,
    work,
)

from omnigraph_l2 import Repository, RunStatus
from omnigraph_l2.errors import RunConflict
from omnigraph_testing import AtPoint, Crash

pytestmark = pytest.mark.integration

BEFORE = {"ann": 1, "bob": 1, "cat": 1, "dan": 1}


def assert_others_go_on(repo: Repository, point: str) -> None:
    """Nobody who writes to the same tables is in need of help."""
    with repo.transaction(check_edges=False) as tx:
        tx.append(PERSON, [{"id": "next"}])
        tx.append(COMPANY, [{"id": "next"}])
    assert "next" in ages(repo), point
    with repo.transaction(check_edges=False) as tx:
        tx.delete(PERSON, ids=["next"])
        tx.delete(COMPANY, ids=["next"])


def test_killed_while_it_begins(omnigraph_crash: Crash) -> None:
    """The operation again gives one run, which works; no other is running."""
    for point, (uri,) in each_step(omnigraph_crash, begin, fill):
        with Repository.open(uri, durability="none") as repo:
            assert ages(repo) == BEFORE
            run = repo.runs.begin(operation_hash=OPERATION)
            assert run.status is RunStatus.RUNNING, point
            assert [each.run_id for each in repo.runs.list()] == [run.run_id], point
            work(run)
            assert run.publish() is not None
            assert ages(repo) == AFTER_WORK, point
            assert_others_go_on(repo, point)


def test_killed_while_it_works(omnigraph_crash: Crash) -> None:
    """What is published of its branch is whole steps; it can be resumed and published."""
    seen = set()
    steps = steps_of(omnigraph_crash, do_work, fill)
    steps = steps[steps.index("l2.run.begun") :]  # until then it only begins, as above
    for point, (uri,) in killed_at(omnigraph_crash, do_work, fill, steps):
        with Repository.open(uri, durability="none") as repo:
            assert ages(repo) == BEFORE, point
            assert_others_go_on(repo, point)
            run = repo.runs.begin(operation_hash=OPERATION)
            steps = (ages(repo, run.branch) == AFTER_WORK, ids(repo, COMPANY, run.branch) == ["co"])
            assert steps in {(False, False), (True, False), (True, True)}, point
            seen.add(steps)
            if any(steps):
                with pytest.raises(RunConflict):
                    run.publish()
            run.abort()
            assert len(repo.runs.list("running")) == 0
    assert len(seen) == 3


@pytest.mark.parametrize("prepare", [fill_with_run, fill_with_moved_target])
def test_killed_while_it_publishes(
    omnigraph_crash: Crash, prepare: Callable[[Path], Sequence[Any]]
) -> None:
    """Before or after; publishing again, by another process, gives one commit and all its rows."""
    outcomes = set()
    steps = steps_of(omnigraph_crash, publish, prepare)
    if prepare is fill_with_moved_target:
        # What comes after the publish does not depend on where the target was.
        steps = steps[: steps.index("l2.publish.visible") + 1]
    for point, (uri, run_id) in killed_at(omnigraph_crash, publish, prepare, steps):
        with Repository.open(uri, durability="none") as repo:
            is_done = ages(repo) == AFTER_WORK
            assert ages(repo) == (AFTER_WORK if is_done else BEFORE), point
            assert ids(repo, COMPANY) == (["co"] if is_done else []), point
            run = repo.runs.get(run_id)
            wanted = RunStatus.PUBLISHED if is_done else RunStatus.RUNNING
            assert run.status is wanted, point
            assert [each.status for each in repo.runs.list()] == [wanted], point
            log = repo.log()
            commit = run.publish("done")
            assert commit is not None
            assert repo.log() == (log if is_done else [commit, *log]), point
            assert (commit.run_id, commit.operation_hash) == (run_id, OPERATION)
            assert ages(repo) == AFTER_WORK, point
            assert ids(repo, COMPANY) == ["co"], point
            assert repo.runs.begin(operation_hash=OPERATION).publish() == commit
            # What is left after the catalog was cleared is for cleaning to find.
            is_cleared = point in {"l2.branch.catalog_removed", "l2.branch.log_removed"}
            assert is_cleared or left_behind(repo) == set(), point
            assert_others_go_on(repo, point)
            outcomes.add(is_done)
    assert outcomes == {True, False}


@pytest.mark.parametrize("end", [abort, fail])
def test_killed_while_it_ends(omnigraph_crash: Crash, end: Callable[..., None]) -> None:
    """Running still, or ended; ending it again works, and nothing is published."""
    for point, (uri, run_id) in each_step(omnigraph_crash, end, fill_with_run):
        with Repository.open(uri, durability="none") as repo:
            run = repo.runs.get(run_id)
            if end is abort:
                run.abort()
            else:
                run.fail("no disk")
            assert repo.runs.get(run_id).status is not RunStatus.RUNNING
            assert ages(repo) == BEFORE, point
            assert_others_go_on(repo, point)
            again = repo.runs.begin(operation_hash=OPERATION)
            assert again.run_id != run_id


def test_reads_survive_the_process(omnigraph_crash: Crash) -> None:
    """A process that only read, and died, has told what: the run is not published past it."""
    uri, *_ = fill(omnigraph_crash.directory)
    omnigraph_crash.run(do_work, uri, kill=AtPoint("l2.run.reads_kept"))
    with Repository.open(uri, durability="none") as repo:
        run = repo.runs.begin(operation_hash=OPERATION)
        with repo.transaction() as tx:
            tx.append(TOWN, [{"id": "oslo"}])
        with pytest.raises(RunConflict) as told:
            run.publish()
        assert told.value.tables == (TOWN,)


def test_every_declared_point_of_runs_is_passed(omnigraph_crash: Crash) -> None:
    """A step that nobody is killed at is not proven."""
    passed: set[str] = set()
    declared: set[str] = set()
    jobs = [(begin, fill), (do_work, fill), (publish, fill_with_run), (fail, fill_with_run)]
    for number, (job, prepare) in enumerate(jobs):
        location = omnigraph_crash.directory / f"points-{number}"
        location.mkdir()
        outcome = omnigraph_crash.run(job, *prepare(location))
        passed |= set(outcome.passed)
        declared |= {name for name in outcome.declared if name.startswith("l2.run.")}
    assert declared
    assert passed >= declared
