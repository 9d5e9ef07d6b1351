"""Cleaning up beside processes that write and read: whoever holds a lease loses nothing."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from each_store import AT_NIGHT, location_in
from sizes import sized
from small_graph import PERSON, SCHEMA, append, people
from upkeepwork import NOTHING, clean_on, later, read_on, stop_in_transaction, write_on

from campaign.forked_processes import process_context
from omnigraph_l2 import Repository
from omnigraph_testing import S3Store

pytestmark = pytest.mark.integration

_WRITERS = _READERS = sized(2, 4)
_DEADLINE = 60


def beside(uri: str, options: dict[str, str] | None, count: int) -> dict[str, Any]:
    """Let writers, readers with and without a lease, and a cleaner at zero age run together."""
    with Repository.init(uri, SCHEMA, options, durability="none") as repo:
        for name in ("first", "second"):
            append(repo, name)
    context = process_context()
    with (
        context.Manager() as shared,
        ProcessPoolExecutor(_WRITERS + 2 * _READERS + 1, mp_context=context) as pool,
    ):
        stop, cleaned = shared.Event(), shared.Event()
        ready = shared.Barrier(2 * _READERS + 1)
        readers = {
            holds: [
                pool.submit(read_on, uri, options, ready, stop, holds=holds)
                for _ in range(_READERS)
            ]
            for holds in (True, False)
        }
        ready.wait(2 * _DEADLINE)
        cleaning = pool.submit(clean_on, uri, options, stop, cleaned)
        writers = [pool.submit(write_on, uri, options, n, count) for n in range(_WRITERS)]
        try:
            published = sum(writer.result() for writer in writers)
            cleaned.wait(_DEADLINE)  # the readers without a lease are to meet that
        finally:
            stop.set()
        rounds, removed = cleaning.result()
        return {
            "published": published,
            "rounds": rounds,
            "removed": removed,
            "held": [reader.result() for reader in readers[True]],
            "unheld": [reader.result() for reader in readers[False]],
        }


def check(uri: str, options: dict[str, str] | None, told: dict[str, Any], count: int) -> None:
    """Whoever held a lease lost nothing, the others were told, and the graph is whole."""
    assert told["published"] == _WRITERS * count
    assert told["removed"] > 0
    assert all(reads > 0 and not expired for reads, expired in told["held"])
    assert sum(expired for _, expired in told["unheld"]) > 0
    with Repository.open(uri, options) as repo:
        assert len(repo.log()) == 1 + 2 + _WRITERS * count
        wanted = {"first", "second"}
        for number in range(_WRITERS):
            gone = {turn - 2 for turn in range(0, count, 3)}
            wanted |= {f"{number}-{turn}" for turn in range(count) if turn not in gone}
            wanted |= {f"{number}--1"}
        assert set(people(repo).split()) == wanted
        assert repo.verify().ok
        later(repo, days=8)
        assert repo.cleanup(NOTHING, dry_run=False).catalog_versions.count > 0
        assert set(people(repo).split()) == wanted


def test_a_tenth_of_it(tmp_path: Path) -> None:
    """On local disk."""
    uri = str(tmp_path / "repo")
    check(uri, None, beside(uri, None, 8), 8)


@pytest.mark.slow
def test_local_disk(tmp_path: Path) -> None:
    """At full size."""
    uri = str(tmp_path / "repo")
    check(uri, None, beside(uri, None, 60), 60)


@pytest.mark.slow
def test_s3(s3_store: S3Store) -> None:
    """The same in a store."""
    uri, options = s3_store.uri("repo"), s3_store.storage_options
    check(uri, options, beside(uri, options, 30), 30)


@pytest.fixture
def dynamodb_location(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, str]]:
    """A location in a store that ignores conditions, with a table that decides its versions."""
    uri, options = location_in(request, tmp_path)
    return uri, dict(options or {})


@pytest.mark.parametrize("dynamodb_location", AT_NIGHT, indirect=True)
def test_dynamodb(dynamodb_location: tuple[str, dict[str, str]]) -> None:
    """The same where DynamoDB decides the versions: no staged file goes that is still needed."""
    uri, options = dynamodb_location
    check(uri, options, beside(uri, options, 10), 10)


def test_a_process_that_was_stopped(tmp_path: Path) -> None:
    """It was silent for longer than its lease counts: it wakes up, and publishes nothing."""
    with Repository.init(tmp_path / "repo", SCHEMA, durability="none") as repo:
        append(repo, "a")
        context = process_context()
        at_rest, go_on, told = context.Event(), context.Event(), context.Queue()
        process = context.Process(target=stop_in_transaction, args=(repo.uri, at_rest, go_on, told))
        process.start()
        assert at_rest.wait(_DEADLINE)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGSTOP)
        try:
            deadline = time.monotonic() + _DEADLINE
            while repo.cleanup(NOTHING, dry_run=False).leases.count == 0:
                assert time.monotonic() < deadline, "its lease is still believed"
        finally:
            os.kill(process.pid, signal.SIGCONT)
        go_on.set()
        assert told.get(timeout=_DEADLINE) == "LeaseLost"
        process.join(_DEADLINE)
        assert people(repo) == "a"
        append(repo, "b")
        assert len(repo.snapshot().read(PERSON)) == 2


def test_two_that_clean_up_at_once(tmp_path: Path) -> None:
    """Neither is in the other's way, and what one would have left is left."""
    uri = str(tmp_path / "repo")
    with Repository.init(uri, SCHEMA, durability="none") as repo:
        for number in range(12):
            append(repo, f"p{number}")
        repo._leases.renew()  # it says no more that the first version is needed
        context = process_context()
        with context.Manager() as shared, ProcessPoolExecutor(3, mp_context=context) as pool:
            stop = shared.Event()
            stop.set()
            cleaners = [pool.submit(clean_on, uri, None, stop) for _ in range(3)]
            assert sum(each.result()[1] for each in cleaners) >= 12
        assert len(people(repo).split()) == 12
        assert repo.cleanup(NOTHING).table_versions.count == 0
        assert repo.verify().ok
