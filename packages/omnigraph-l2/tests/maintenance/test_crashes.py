"""A cleanup that is killed at any step has harmed nothing, and the next one goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from killing import killed_at, steps_of
from small_graph import append
from upkeepwork import NOTHING, clean, fill, later, shown, table_versions

from omnigraph_l2 import Repository
from omnigraph_testing import Crash

pytestmark = pytest.mark.integration


def test_killed_at_each_step(crash: Crash) -> None:
    """Everything that is needed is there; another cleanup leaves what one would have left."""
    before = {}

    def filled(place: Path) -> list[str]:
        (uri,) = fill(place)
        with Repository.open(uri, durability="none") as repo:
            before[uri] = shown(repo)
        return [uri]

    steps = steps_of(crash, clean, fill)
    mine = [each for each in steps if each.startswith(("l2.cleanup.", "l2.lease."))]
    assert len(mine) >= 7
    for point, (uri,) in killed_at(crash, clean, filled, mine):
        with Repository.open(uri, durability="none") as repo:
            assert shown(repo) == before[uri], point
            later(repo, days=8)
            repo.cleanup(NOTHING, dry_run=False)
            assert shown(repo) == before[uri], point
            rest = repo.cleanup(NOTHING)
            assert (rest.forks.count, rest.table_versions.count) == (0, 0), point
            append(repo, "after")
            assert repo.verify().ok, point


def test_killed_inside_lance(crash: Crash) -> None:
    """Also between any two files that go."""
    place = crash.directory / "whole"
    place.mkdir(parents=True)
    (uri,) = fill(place)
    with Repository.open(uri, durability="none") as repo:
        kept = shown(repo)
    kept.pop("log")
    killed = crash.everywhere(clean, prepare=fill, by="file operations", limit=6, seed=5)
    for crashed in killed:
        with Repository.open(*crashed.arguments, durability="none") as repo:
            found = shown(repo)
            found.pop("log")
            assert found == kept, str(crashed)
            later(repo, days=8)
            repo.cleanup(NOTHING, dry_run=False)
            append(repo, "after")
            assert len(table_versions(repo)) <= 8


def test_every_declared_point_is_passed(crash: Crash, tmp_path: Path) -> None:
    """A step that nobody is killed at is not proven; tickets are of stores only."""
    outcome = crash.run(clean, *fill(tmp_path))
    declared = {name for name in outcome.declared if name.startswith("l2.cleanup.")}
    assert declared - set(outcome.passed) == {"l2.cleanup.tickets"}
