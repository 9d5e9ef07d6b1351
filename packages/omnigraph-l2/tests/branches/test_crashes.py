"""Processes killed while they make, delete or first write to a branch: the name stays usable."""

from __future__ import annotations

from pathlib import Path

import pytest
from branchwork import create_side, delete_side, fill_with_branch, write_side
from killing import each_step
from sizes import commit_seed, sized
from small_graph import PERSON, append, fill, native_branches, people

from campaign.traced_crash import TracedCrash
from omnigraph_l1 import Table, table_path
from omnigraph_l2 import Repository
from omnigraph_l2.errors import BranchExists, UnknownBranch
from omnigraph_testing import Crash

pytestmark = pytest.mark.integration

PEOPLE = table_path(PERSON)


def test_killed_while_it_is_made(omnigraph_crash: Crash) -> None:
    """It is there or not; making it works, or tells that it is there; then it is whole."""
    outcomes = set()
    for point, (uri,) in each_step(omnigraph_crash, create_side, fill):
        with Repository.open(uri, durability="none") as repo:
            is_there = [each.name for each in repo.branches.list()] == ["main", "side"]
            if is_there:
                with pytest.raises(BranchExists):
                    repo.branches.create("side")
            else:
                with pytest.raises(UnknownBranch):
                    repo.snapshot("side")
                repo.branches.create("side")
            append(repo, "cat", branch="side")
            assert (people(repo, "side"), people(repo)) == ("ann bob cat", "ann bob"), point
            repo.branches.delete("side")
            outcomes.add(is_there)
    assert outcomes == {True, False}


def test_killed_inside_lance_while_it_is_made(traced_crash: TracedCrash) -> None:
    """Also where a native branch is half made: it is never used, the name is free."""
    killed = traced_crash.everywhere(
        create_side, prepare=fill, by="file operations", limit=sized(4, 8), seed=commit_seed()
    )
    for crashed in killed:
        with Repository.open(*crashed.arguments, durability="none") as repo:
            if len(repo.branches.list()) == 1:
                repo.branches.create("side")
            append(repo, "cat", branch="side")
            assert people(repo, "side") == "ann bob cat", str(crashed)


def test_killed_while_it_is_deleted(omnigraph_crash: Crash) -> None:
    """It is there as a whole, or gone; the name can be used again."""
    outcomes = set()
    for point, (uri,) in each_step(omnigraph_crash, delete_side, fill_with_branch):
        with Repository.open(uri, durability="none") as repo:
            is_there = len(repo.branches.list()) == 2
            if is_there:
                assert people(repo, "side") == "ann bob cat", point
                repo.branches.delete("side")
            with pytest.raises(UnknownBranch):
                repo.snapshot("side")
            repo.branches.create("side")
            append(repo, "dan", branch="side")
            assert people(repo, "side") == "ann bob dan", point
            outcomes.add(is_there)
    assert False in outcomes


def test_nothing_is_left_of_a_branch_that_was_deleted(omnigraph_crash: Crash) -> None:
    """No native branch, in no dataset that it had written to."""
    (uri,) = fill_with_branch(omnigraph_crash.directory)
    paths = ("__manifest", "_graph_commits.lance", PEOPLE)
    with Repository.open(uri, durability="none") as repo:
        assert [len(native_branches(repo, path)) for path in paths] == [1, 1, 1]
        repo.branches.delete("side")
        assert [len(native_branches(repo, path)) for path in paths] == [0, 0, 0]


def test_killed_while_it_is_written_to(omnigraph_crash: Crash) -> None:
    """Also between fork and publish: the next writer needs no help, rows of the dead stay away."""
    outcomes = set()
    for point, (uri,) in each_step(omnigraph_crash, write_side, fill_with_branch):
        with Repository.open(uri, durability="none") as repo:
            found = people(repo, "side")
            companies = repo.snapshot("side").read("node:Company")["id"].to_pylist()
            before_or_after = {("ann bob cat", ""), ("ann bob cat dan", "co")}
            assert (found, "".join(companies)) in before_or_after, point
            with repo.transaction("side") as tx:
                tx.append("node:Company", [{"id": "mine"}])
            now = repo.snapshot("side").read("node:Company")["id"].to_pylist()
            assert sorted(now) == sorted([*companies, "mine"]), point
            assert repo.snapshot().read("node:Company").num_rows == 0, point
            outcomes.add(found)
    assert len(outcomes) == 2


def half_made(repo: Repository, path: str, native: str) -> None:
    """Leave a native branch as a process leaves it that was killed inside ``create_branch``."""
    table = Table.open(Path(repo.uri) / path, durability="none")
    table.fork(native)
    (record,) = (Path(repo.uri) / path / "_refs" / "branches").glob("*.json")
    record.unlink()


def test_a_fork_that_was_left_half_made(local: Repository) -> None:
    """The table is forked under another name, which its row tells; and can be written on."""
    made = local.branches.create("side")
    assert made.native_branch is not None
    half_made(local, PEOPLE, made.native_branch)
    append(local, "cat", branch="side")
    append(local, "dan", branch="side")
    entry = local.snapshot("side").tables[PERSON]
    assert entry.table_branch is not None
    assert entry.table_branch.startswith(f"{made.native_branch}.")
    assert people(local, "side") == "ann bob cat dan"
    local.branches.create("kid", "side")
    append(local, "eve", branch="kid")
    assert people(local, "kid") == "ann bob cat dan eve"
    local.branches.delete("kid")
    local.branches.delete("side")
    assert native_branches(local, PEOPLE) == set()


def test_a_fork_that_a_dead_writer_left(local: Repository) -> None:
    """It is used, from the pinned version on; what the dead wrote there is not seen."""
    made = local.branches.create("side")
    assert made.native_branch is not None
    left = local.snapshot("side")._open(PERSON).fork(made.native_branch)
    rows = left.read()
    left.append(rows.slice(0, 0)).table.overwrite(rows.slice(0, 1))
    append(local, "cat", branch="side")
    assert people(local, "side") == "ann bob cat"
    assert local.snapshot("side").tables[PERSON].table_branch == made.native_branch


def test_every_declared_point_of_branches_is_passed(omnigraph_crash: Crash) -> None:
    """A step that nobody is killed at is not proven."""
    passed: set[str] = set()
    declared: set[str] = set()
    jobs = [(create_side, fill), (delete_side, fill_with_branch), (write_side, fill_with_branch)]
    for number, (job, prepare) in enumerate(jobs):
        location = omnigraph_crash.directory / f"points-{number}"
        location.mkdir()
        outcome = omnigraph_crash.run(job, *prepare(location))
        passed |= set(outcome.passed)
        declared |= {name for name in outcome.declared if name.startswith("l2.branch.")}
    assert declared
    assert passed >= {*declared, "l2.table.forked"}
