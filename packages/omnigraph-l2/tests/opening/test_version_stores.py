"""Repositories in a store without conditional writes: made by the dead, and met with wrong stores.

What decides versions keeps branches, tags and leases, too: what is written to another is lost.
"""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from each_store import VERSION_STORES, place_in
from repositories import SCHEMA

from omnigraph_l1 import Storage, time_of_store
from omnigraph_l2 import Repository
from omnigraph_l2.errors import (
    InvalidLocation,
    InvalidRequest,
    OmniGraphError,
    UnknownBranch,
    UnknownTag,
)
from omnigraph_testing import AtPoint, Crash

Place = tuple[str, Any]


def init_there(uri: str, options: dict[str, str]) -> None:
    """Make the repository."""
    Repository.init(uri, SCHEMA, options).close()


def change_there(uri: str, options: dict[str, str]) -> None:
    """Publish, make a branch, delete it."""
    with Repository.open(uri, options) as repo:
        with repo.transaction(message="killed") as tx:
            tx.append("node:Person", [{"id": "killed"}])
        repo.branches.create("side")
        repo.branches.delete("side")


@pytest.fixture(params=VERSION_STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Where a repository can be made, with each version store."""
    return place_in(request, tmp_path)


@pytest.fixture
def options(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """The same, with a file."""
    request.param = "careless, sqlite"
    return place_in(request, tmp_path)


@pytest.mark.parametrize("point", ["versions.unmarked", "versions.reserved"])
def test_a_killed_creation_is_finished(options: Place, crash: Crash, point: str) -> None:
    """By whoever makes the repository again."""
    crash.run(init_there, *options, kill=AtPoint(point))
    init_there(*options)
    with Repository.open(*options) as repo:
        with repo.transaction() as tx:
            tx.append("node:Person", [{"id": "a"}])
        assert repo.verify().ok


@pytest.mark.parametrize(
    ("step", "hit"),
    [("reserved", 1), ("copied", 2), ("reserved", 3), ("copied", 4), ("reserved", 5)],
)
def test_killed_between_the_steps(options: Place, crash: Crash, step: str, hit: int) -> None:
    """Of a publish, and of making and deleting a branch: all or nothing, and the next one works."""
    init_there(*options)
    crash.run(change_there, *options, kill=AtPoint(f"versions.{step}", hit=hit))
    with Repository.open(*options) as repo:
        happened = [each.message for each in repo.log()].count("killed")
        rows = repo.snapshot().read("node:Person").column("id").to_pylist()
        assert rows == ["killed"] * happened
        with repo.transaction() as tx:
            tx.append("node:Person", [{"id": "next"}])
        if "side" not in [each.name for each in repo.branches.list()]:
            repo.branches.create("side")
        side = repo.snapshot("side").read("node:Person").column("id").to_pylist()
        assert set(side) <= {"killed", "next"}
        assert len(repo.log()) == happened + 2
        assert repo.verify().ok


def test_nothing_is_written_to_another_store(options: Place, tmp_path: Path) -> None:
    """No tag, no pointer, no creation: it would be lost, and cleaned up beneath."""
    uri, right = options
    init_there(uri, right)
    wrong = {**right, "version_store": f"sqlite://{tmp_path}/wrong.db"}
    init_there(f"{uri}-other", wrong)
    with pytest.raises(InvalidLocation, match="version store"):
        Repository.open(uri, wrong)
    with pytest.raises(InvalidLocation, match="version store"):
        init_there(uri, wrong)
    with Repository.open(uri, right) as repo, repo.transaction() as tx:
        tx.append("node:Person", [{"id": "a"}])
    for given in (wrong, {**right, "version_store": f"sqlite://{tmp_path}/empty.db"}):
        with Repository.open(uri, given) as repo:
            assert repo.snapshot().read("node:Person").num_rows == 1
            for write in (lambda repo=repo: repo.tags.create("v1"), lambda repo=repo: _mend(repo)):
                with pytest.raises(OmniGraphError, match="version store"):
                    write()
            assert repo.tags.list() == []
    with Repository.open(uri, right) as repo:
        repo.tags.create("v1")
        assert repo.verify().ok


def test_names_that_the_right_store_has_are_not_denied(options: Place, tmp_path: Path) -> None:
    """Branches and tags are there: the store is missing, and that is said."""
    uri, right = options
    init_there(uri, right)
    _add(uri, right, "a")
    with Repository.open(uri, right) as repo:
        repo.branches.create("side")
        repo.tags.create("v1")
    none = {name: value for name, value in right.items() if name != "version_store"}
    empty = {**right, "version_store": f"sqlite://{tmp_path}/empty.db"}
    for given in (none, empty):
        with Repository.open(uri, given) as repo:
            for ask in (
                lambda repo=repo: repo.snapshot("side"),
                lambda repo=repo: repo.branches.get("side"),
                lambda repo=repo: repo.snapshot(tag="v1"),
                lambda repo=repo: repo.tags.get("v1"),
            ):
                with pytest.raises(OmniGraphError, match="version store"):
                    ask()
    with Repository.open(uri, right) as repo:
        with pytest.raises(UnknownBranch):
            repo.snapshot("other")
        with pytest.raises(UnknownTag):
            repo.tags.get("other")


def test_an_older_copy_of_the_store_catches_up(options: Place, tmp_path: Path) -> None:
    """As after a restore: the next writer just works, and everything acknowledged is there."""
    uri, given = options
    init_there(uri, given)
    _add(uri, given, "a")
    file, older = tmp_path / "versions.db", tmp_path / "older.db"
    shutil.copy(file, older)
    _add(uri, given, "b", "c")
    older.replace(file)
    _add(uri, given, "d")
    with Repository.open(uri, given) as repo:
        rows = repo.snapshot().read("node:Person").column("id").to_pylist()
        assert sorted(rows) == ["a", "b", "c", "d"]
        assert len(repo.log()) == 5
        assert repo.verify().ok


def _add(uri: str, options: dict[str, str], *names: str) -> None:
    with Repository.open(uri, options) as repo:
        for name in names:
            with repo.transaction() as tx:
                tx.append("node:Person", [{"id": name}])


def _mend(repo: Repository) -> None:
    repo.repair(dry_run=False)


def test_both_clocks_are_looked_at(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the leases, and that of the files whose age is told."""
    uri, options = place
    init_there(uri, options)
    now = time_of_store(Storage.resolve(uri, options).child("_turn"))
    assert abs(now - datetime.now(timezone.utc)) < timedelta(minutes=5)
    with Repository.open(uri, options) as repo:
        repo.cleanup(timedelta(days=7), dry_run=False)
        monkeypatch.setattr(
            "omnigraph_l2._maintenance.cleaning.time_of_store",
            lambda _: datetime.now(timezone.utc) + timedelta(hours=1),
        )
        with pytest.raises(InvalidRequest, match="store of the data"):
            repo.cleanup(timedelta(days=7), dry_run=False)
