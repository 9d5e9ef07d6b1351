"""A cleanup that is killed at any step has harmed nothing, and the next one goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from killing import killed_at, steps_of
from sizes import commit_seed, sized
from small_graph import append
from upkeepwork import NOTHING, clean, fill, later, shown, table_versions

from campaign.traced_crash import TracedCrash
from omnigraph_l2 import Repository
from omnigraph_testing import Crash

pytestmark = pytest.mark.integration


def test_killed_at_each_step(omnigraph_crash: Crash) -> None:
    """Everything that is needed is there; another cleanup leaves what one would have left."""
    before = {}

    def filled(location: Path) -> list[str]:
        (uri,) = fill(location)
        with Repository.open(uri, durability="none") as repo:
            before[uri] = shown(repo)
        return [uri]

    steps = steps_of(omnigraph_crash, clean, fill)
    mine = [each for each in steps if each.startswith(("l2.cleanup.", "l2.lease."))]
    assert len(mine) >= 7
    for point, (uri,) in killed_at(omnigraph_crash, clean, filled, mine):
        with Repository.open(uri, durability="none") as repo:
            assert shown(repo) == before[uri], point
            later(repo, days=8)
            repo.cleanup(NOTHING, dry_run=False)
            assert shown(repo) == before[uri], point
            rest = repo.cleanup(NOTHING)
            assert (rest.forks.count, rest.table_versions.count) == (0, 0), point
            append(repo, "after")
            assert repo.verify().ok, point


def test_killed_inside_lance(traced_crash: TracedCrash) -> None:
    """Also between any two files that go."""
    location = traced_crash.directory / "whole"
    location.mkdir(parents=True)
    (uri,) = fill(location)
    with Repository.open(uri, durability="none") as repo:
        kept = shown(repo)
    kept.pop("log")
    killed = traced_crash.everywhere(
        clean, prepare=fill, by="file operations", limit=sized(4, 6), seed=commit_seed()
    )
    for crashed in killed:
        with Repository.open(*crashed.arguments, durability="none") as repo:
            found = shown(repo)
            found.pop("log")
            assert found == kept, str(crashed)
            later(repo, days=8)
            repo.cleanup(NOTHING, dry_run=False)
            append(repo, "after")
            assert len(table_versions(repo)) <= 8


def test_every_declared_point_is_passed(omnigraph_crash: Crash, tmp_path: Path) -> None:
    """A step that nobody is killed at is not proven; tickets are of stores only."""
    outcome = omnigraph_crash.run(clean, *fill(tmp_path))
    declared = {name for name in outcome.declared if name.startswith("l2.cleanup.")}
    assert declared - set(outcome.passed) == {"l2.cleanup.tickets"}
