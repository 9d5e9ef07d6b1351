"""A store that accepts connections and never answers: each operation ends, and says what is known.

The store options of most tests make the bounds small; one test has the default options.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

from omnigraph_l1.failpoints import handling
from omnigraph_l2 import GraphSchema, NodeType, Repository
from omnigraph_l2.errors import CommitOutcomeUnknown, OmniGraphError, StoreUnavailable
from omnigraph_testing import Bandwidth, FaultyS3, Hold, Rule

KEY = "node:A"
SCHEMA = GraphSchema(nodes=[NodeType("A", {"note": pa.string()})])
MOST_SECONDS = 15.0
"""How long a read may take to report a silent store, whatever it is about."""


@contextmanager
def silent(store: FaultyS3) -> Iterator[None]:
    """Let the store answer nothing."""
    held = store.hold(times=None)
    try:
        yield
    finally:
        held.release()
        store.clear()


def impatient(store: FaultyS3) -> Mapping[str, str]:
    """Return options with which a silent store is noticed in seconds."""
    return {**store.storage_options, "timeout": "1s"}


@contextmanager
def taking_less_than(seconds: float) -> Iterator[None]:
    """Check how long the block takes."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


@pytest.fixture
def repo(faulty_s3: FaultyS3) -> Iterator[Repository]:
    """Return a repository with one row, and a branch, whose store can fall silent."""
    with Repository.init(faulty_s3.uri("repo"), SCHEMA, impatient(faulty_s3)) as made:
        with made.transaction() as tx:
            tx.append(KEY, [{"id": "a", "note": "x"}])
        made.branches.create("side")
        yield made


def test_with_the_default_options_opening_ends_within_15_seconds(faulty_s3: FaultyS3) -> None:
    """Lance alone would take six times as long as one request may take."""
    uri, options = faulty_s3.uri("repo"), faulty_s3.storage_options
    Repository.init(uri, SCHEMA, options).close()
    with silent(faulty_s3), taking_less_than(MOST_SECONDS), pytest.raises(StoreUnavailable):
        Repository.open(uri, options)


def test_every_read_of_a_silent_store_ends(repo: Repository, faulty_s3: FaultyS3) -> None:
    """None of them guesses; the repository is as it was when the store is back."""
    snapshot = repo.snapshot()
    reads: list[Callable[[], object]] = [
        lambda: snapshot.read(KEY),
        lambda: repo.snapshot("side"),
        repo.tags.list,
        lambda: repo.branches.create("other"),
        repo.runs.list,
    ]
    with silent(faulty_s3):
        for read in reads:
            with taking_less_than(MOST_SECONDS), pytest.raises(StoreUnavailable):
                read()
    assert repo.snapshot().read(KEY).num_rows == 1
    assert [each.name for each in repo.branches.list()] == ["main", "side"]


@pytest.mark.parametrize("at", ["before", "after"])
def test_a_store_that_falls_silent_at_the_publish_leaves_the_outcome_unknown(
    repo: Repository, faulty_s3: FaultyS3, at: str
) -> None:
    """The error has the id of the commit, with which the store says later whether it happened."""
    tx = repo.transaction()

    def at_publish(name: str) -> None:
        if name == "l2.publish.planned":
            faulty_s3.inject(Rule(Hold(held, at=at)))

    with faulty_s3.hold(key="no such key") as held, taking_less_than(MOST_SECONDS):
        with pytest.raises(CommitOutcomeUnknown) as unknown, handling(at_publish), tx:
            tx.append(KEY, [{"id": "b", "note": "x"}])
        assert unknown.value.commit_id == tx.commit_id
    faulty_s3.clear()
    faulty_s3.wait_until_idle()
    # The abandoned call goes on as soon as the store answers: the commit may land at any moment.
    rows = repo.snapshot().read(KEY).num_rows
    is_found = tx.commit_id in {each.graph_commit_id for each in repo.log()}
    assert rows == 1 or (rows == 2 and is_found)


def test_closing_ends_within_its_bound_and_raises_nothing(
    repo: Repository, faulty_s3: FaultyS3
) -> None:
    """What it leaves behind, the next writer does."""
    uri = repo.uri
    with repo.transaction() as tx:
        tx.append(KEY, [{"id": "b", "note": "x"}])
    with silent(faulty_s3), taking_less_than(3.0):
        repo.close(timeout=2)
    with Repository.open(uri, impatient(faulty_s3)) as again:
        assert len(again.log()) == 3


PROGRAM = """
import sys
from omnigraph_l2 import Repository
options = dict(each.split("=", 1) for each in sys.argv[2:])
repo = Repository.open(sys.argv[1], options)
print("ready", flush=True)
sys.stdin.readline()
try:
    repo.snapshot().read("node:A")
except Exception as error:
    print(type(error).__name__, flush=True)
repo.close(timeout=1)
sys.exit(7)
"""


def test_a_process_with_abandoned_calls_exits_with_its_status(
    repo: Repository, faulty_s3: FaultyS3
) -> None:
    """Neither the calls that still wait nor their threads keep it, or change its status."""
    # So long that the calls still wait when the process exits.
    options = {**faulty_s3.storage_options, "timeout": "60s"}
    program = PROGRAM.replace("repo.snapshot()", "repo.snapshot(timeout=1)")
    command = [sys.executable, "-c", program, repo.uri, *map("=".join, options.items())]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with silent(faulty_s3):
            began = time.monotonic()
            said, _ = process.communicate("\n", timeout=60)
            seconds = time.monotonic() - began
    assert said == "StoreUnavailable\n"
    assert process.returncode == 7
    assert seconds < MOST_SECONDS


def test_work_that_makes_progress_is_not_cut(
    repo: Repository, faulty_s3: FaultyS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that takes several times the bound is done while the store takes bytes."""
    monkeypatch.setattr("omnigraph_l1._storage.silence_watch.SILENCE_SECONDS", 1.0)
    rows = [{"id": str(number), "note": random.randbytes(400).hex()} for number in range(1_000)]
    with Repository.open(repo.uri, faulty_s3.storage_options) as patient:
        trickle = faulty_s3.inject(Rule(Bandwidth(100_000), "PUT", key="*/data/*"))
        with patient.transaction(timeout=1) as tx:
            began = time.monotonic()
            tx.append(KEY, rows)
            patient_for = time.monotonic() - began
        assert trickle.fired
        assert patient.snapshot().read(KEY).num_rows == len(rows) + 1
    assert patient_for > 3


NO_TIMES: list[Any] = [None, "1", True, -1, float("nan"), []]


@pytest.mark.parametrize("timeout", NO_TIMES, ids=repr)
def test_every_method_that_waits_checks_its_timeout(tmp_path: Any, timeout: Any) -> None:
    """It has the same name, type and check everywhere."""
    repo = Repository.init(str(tmp_path / "repo"), SCHEMA, durability="none")
    run = repo.runs.begin()
    calls: list[Callable[[], object]] = [
        lambda: Repository.init(str(tmp_path / "other"), SCHEMA, timeout=timeout),
        lambda: Repository.open(repo.uri, timeout=timeout),
        lambda: repo.flush(timeout=timeout),
        lambda: repo.close(timeout=timeout),
        lambda: repo.snapshot(timeout=timeout),
        lambda: repo.log(timeout=timeout),
        lambda: repo.commit(repo.log()[0].graph_commit_id, timeout=timeout),
        lambda: repo.diff(None, "main", timeout=timeout),
        lambda: repo.changes(timeout=timeout),
        lambda: repo.transaction(timeout=timeout),
        lambda: repo.publish([], timeout=timeout),
        lambda: repo.evolve(SCHEMA, timeout=timeout),
        lambda: repo.revert("x", timeout=timeout),
        lambda: repo.cleanup(timeout=timeout),
        lambda: repo.optimize(timeout=timeout),
        lambda: repo.migrate(timeout=timeout),
        lambda: repo.verify(timeout=timeout),
        lambda: repo.repair(timeout=timeout),
        lambda: repo.branches.create("b", timeout=timeout),
        lambda: repo.branches.list(timeout=timeout),
        lambda: repo.branches.get("main", timeout=timeout),
        lambda: repo.branches.delete("b", timeout=timeout),
        lambda: repo.branches.merge("b", timeout=timeout),
        lambda: repo.tags.create("t", timeout=timeout),
        lambda: repo.tags.list(timeout=timeout),
        lambda: repo.tags.get("t", timeout=timeout),
        lambda: repo.tags.delete("t", timeout=timeout),
        lambda: repo.runs.begin(timeout=timeout),
        lambda: repo.runs.get(run.run_id, timeout=timeout),
        lambda: repo.runs.list(timeout=timeout),
        lambda: run.refresh(timeout=timeout),
        lambda: run.publish(timeout=timeout),
        lambda: run.abort(timeout=timeout),
        lambda: run.fail("x", timeout=timeout),
    ]
    for call in calls:
        with pytest.raises(OmniGraphError, match="number of seconds"):
            call()
    assert not repo.tags.list()
    assert run.refresh().status.value == "running"
