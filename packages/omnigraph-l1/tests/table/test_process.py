"""Processes and handles: use after fork, events, secrets."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import structlog
from people import SCHEMA, rows

from omnigraph_l1 import Durability, JsonRefs, Storage, Table, WriteTarget
from omnigraph_l1.errors import UsedAfterFork
from omnigraph_testing import FaultyS3


def in_forked_child(attempt: Callable[[], object]) -> str:
    """Run something in a forked child, and give the name of what it raised."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            attempt()
            told = "nothing"
        except BaseException as error:  # noqa: BLE001 - told to the parent
            told = type(error).__name__ + "\n" + traceback.format_exc()
        os.write(writer, told.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        told = stream.read()
    os.waitpid(child, 0)
    return told.split("\n")[0]


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:UserWarning")
def test_use_after_fork_raises_at_once(table: Table) -> None:
    """Each way of using a handle in a forked child is an error, and none hangs."""
    staged = table.stage_append(rows("a"))
    for attempt in (
        table.refresh,
        table.read,
        table.count,
        lambda: table.append(rows("b")),
        lambda: table.commit(staged),
        lambda: table.at(1),
        lambda: table.dataset,
        table.branches,
        lambda: table.fork("side.1"),
        lambda: table.stage_delete("true"),
        lambda: table.upsert(rows("b"), "id"),
        table.compact,
        table.indexes,
        table.versions,
    ):
        assert in_forked_child(attempt) == "UsedAfterFork"
    assert table.count() == 0


def test_the_error_of_a_fork_says_what_to_do() -> None:
    """And survives the way to another process, as all errors do."""
    error = UsedAfterFork(what="The table", made_in=1, used_in=2)
    assert "spawn" in str(pickle.loads(pickle.dumps(error)))


def test_nothing_is_printed_unless_asked_for(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Out of the box neither structlog nor logging writes a line."""
    Table.create(tmp_path / "t", SCHEMA).append(rows("a"))
    assert capfd.readouterr() == ("", "")


def test_events_go_to_an_application_that_configured_logging(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Opens and commits are told with durations, and never with row data."""
    with caplog.at_level(logging.DEBUG, logger="omnigraph_l1"):
        Table.create(tmp_path / "t", SCHEMA).append(rows("secret-row"))
    text = caplog.text
    assert "commit" in text
    assert "seconds=" in text
    assert "secret-row" not in text


def test_events_go_to_an_application_that_configured_structlog(tmp_path: Path) -> None:
    """The same, structured."""
    with structlog.testing.capture_logs() as events:
        structlog.configure(processors=structlog.get_config()["processors"])
        try:
            Table.create(tmp_path / "t", SCHEMA).append(rows("a"))
        finally:
            structlog.reset_defaults()
    (commit,) = (event for event in events if event["event"] == "commit")
    assert commit["operation"] == "append"
    assert commit["version"] == 2
    assert commit["seconds"] >= 0


def test_no_secret_in_any_text() -> None:
    """A write target and a table print where, never with what."""
    options = {"secret_access_key": "hidden", "access_key_id": "also", "region": "x"}
    storage = Storage.resolve("s3://bucket/t", options)
    target = WriteTarget(storage=storage, branch=None, version=1, durability=Durability.FULL)
    assert "hidden" not in repr(target) + str(target) + repr(storage) + str(storage)
    assert "also" not in repr(target)
    assert pickle.loads(pickle.dumps(target)) == target


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:UserWarning")
def test_a_fork_while_the_store_is_tried_out(faulty_s3: FaultyS3) -> None:
    """The child does not wait for a thread of its parent that is not there."""
    options = faulty_s3.storage_options
    # By this name nothing in this process has tried it out yet.
    options = {key: value.replace("127.0.0.1", "localhost") for key, value in options.items()}

    def attempt() -> None:
        signal.alarm(30)  # else the parent would wait for ever, too
        JsonRefs.open(Storage.resolve(faulty_s3.uri(), options)).probe_once()

    with ThreadPoolExecutor(1) as pool, faulty_s3.hold("PUT", key="*.probe/*") as held:
        trying = pool.submit(JsonRefs.open(Storage.resolve(faulty_s3.uri(), options)).probe_once)
        held.wait()
        assert in_forked_child(attempt) == "UsedAfterFork"
        held.release()
        trying.result(60)
