"""Repositories whose versions a DynamoDB table decides, opened with and without that table."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from each_store import DYNAMODB, location_in
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

Location = tuple[str, Any]


@pytest.fixture(params=DYNAMODB)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    """A repository with one commit, a branch and a tag."""
    uri, options = location_in(request, tmp_path)
    with Repository.init(uri, SCHEMA, options) as repo:
        with repo.transaction() as tx:
            tx.append("node:Person", [{"id": "a"}])
        repo.branches.create("side")
        repo.tags.create("v1")
    return uri, options


@pytest.fixture
def without_table(location: Location) -> Location:
    """The same, without the table: as ``s3://``."""
    uri, options = location
    plain = uri.replace("s3+ddb://", "s3://").partition("?")[0]
    return plain, {name: value for name, value in options.items() if "dynamodb" not in name}


def test_it_works_like_any_other(location: Location) -> None:
    """Branches, tags and publishes are all there, and names that do not exist are reported."""
    with Repository.open(*location) as repo:
        with repo.transaction("side") as tx:
            tx.append("node:Person", [{"id": "b"}])
        repo.branches.merge("side")
        assert repo.snapshot().read("node:Person").num_rows == 2
        assert repo.snapshot(tag="v1").read("node:Person").num_rows == 1
        with pytest.raises(UnknownBranch):
            repo.snapshot("other")
        with pytest.raises(UnknownTag):
            repo.tags.get("other")
        assert repo.verify().ok


def test_without_the_table_nothing_is_written(location: Location, without_table: Location) -> None:
    """No row, no tag, no repair, no creation."""
    with pytest.raises(OmniGraphError):
        Repository.init(without_table[0], SCHEMA, without_table[1])
    with Repository.open(*without_table) as repo:
        assert repo.snapshot().read("node:Person").num_rows == 1
        for write in (
            lambda: repo.tags.create("v2"),
            lambda: repo.repair(dry_run=False),
            lambda: _append(repo),
        ):
            with pytest.raises(OmniGraphError):
                write()
        assert repo.tags.list() == []
    with Repository.open(*location) as repo:
        assert repo.snapshot().read("node:Person").num_rows == 1
        assert [each.name for each in repo.tags.list()] == ["v1"]
        assert repo.verify().ok


def test_names_are_not_denied_without_the_table(without_table: Location) -> None:
    """Branches and tags exist, but only the table has their names: the error says so."""
    with Repository.open(*without_table) as repo:
        for read in (
            lambda: repo.snapshot("side"),
            lambda: repo.branches.get("side"),
            lambda: repo.snapshot(tag="v1"),
            lambda: repo.tags.get("v1"),
        ):
            with pytest.raises(InvalidLocation, match="version store"):
                read()


def test_both_clocks_are_compared(location: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the leases, and the clock of the store that has the files."""
    uri, options = location
    now = time_of_store(Storage.resolve(uri, options).child("_turn"))
    assert abs(now - datetime.now(timezone.utc)) < timedelta(minutes=5)
    with Repository.open(uri, options) as repo:
        repo.cleanup(timedelta(days=7), dry_run=False)
        monkeypatch.setattr(
            "omnigraph_l2._maintenance.cleanup.time_of_store",
            lambda _: datetime.now(timezone.utc) + timedelta(hours=1),
        )
        with pytest.raises(InvalidRequest, match="store of the data"):
            repo.cleanup(timedelta(days=7), dry_run=False)


def _append(repo: Repository) -> None:
    with repo.transaction() as tx:
        tx.append("node:Person", [{"id": "x"}])
