"""Runs: real processes, really killed, against a client that is right and one that is not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from omnigraph_testing.errors import InvalidOption, WorkerFailed
from omnigraph_testing.histories import (
    AnomalyKind,
    Append,
    Kills,
    Outcome,
    Read,
    Recorder,
    Workload,
    check,
    read_journals,
    run,
)

from ._clients import Broken, NoLock, Sqlite

MIX = Workload(("x", "y", "z"), seed=5, rotate_after=40)


def elements(history: Any) -> list[object]:
    """List what was appended."""
    return [op.element for one in history.transactions for op in one.ops if isinstance(op, Append)]


def test_a_right_client_is_found_right(tmp_path: Path) -> None:
    """Four processes on SQLite give a strictly serializable history of all that was asked."""
    history = run(
        partial(Sqlite, str(tmp_path / "db")),
        MIX,
        directory=tmp_path / "journals",
        transactions=402,
    )
    assert [one.process for one in history.transactions].count("w0.0") == 101
    assert len(history) == 402 + 1
    assert history.count(Outcome.OK) == len(history)
    assert {one.process for one in history.transactions} == {
        "w0.0",
        "w1.0",
        "w2.0",
        "w3.0",
        "final",
    }
    report = check(history)
    assert report.ok, str(report)


def test_a_right_client_stays_right_under_kills(tmp_path: Path) -> None:
    """SIGKILL at any moment leaves unknown outcomes, new processes go on, and nothing is lost."""
    history = run(
        partial(Sqlite, str(tmp_path / "db")),
        MIX,
        directory=tmp_path / "journals",
        transactions=6_000,
        processes=3,
        kills=Kills(3, (0.05, 0.15), most=12),
    )
    again = {one.process for one in history.transactions if not one.process.endswith(".0")}
    assert len(again - {"final"}) >= 3
    assert sum(one.process != "final" for one in history.transactions) == 6_000
    assert len(set(elements(history))) == len(elements(history))
    for worker in ("w0.", "w1.", "w2."):
        generations = [
            int(op.key[1]) if isinstance(op.key, tuple) else 0
            for one in history.transactions
            if one.process.startswith(worker)
            for op in one.ops
        ]
        assert generations == sorted(generations)
        assert generations[-1] == 49
    report = check(history)
    assert report.ok, str(report)


def test_a_wrong_client_is_found_wrong(tmp_path: Path) -> None:
    """Reading, changing and writing back with no lock loses updates, and the report says so."""
    history = run(
        partial(NoLock, str(tmp_path)),
        Workload(("x", "y"), 1, length=(2, 2), rotate_after=40),
        directory=tmp_path / "journals",
        transactions=800,
    )
    report = check(history)
    assert AnomalyKind.LOST_UPDATE in report.kinds, str(report)


def test_a_run_ends_at_its_deadline(tmp_path: Path) -> None:
    """With ``seconds`` and no number the workers stop by themselves."""
    history = run(
        partial(Sqlite, str(tmp_path / "db")),
        MIX,
        directory=tmp_path / "journals",
        processes=2,
        seconds=2,
    )
    working = [one for one in history.transactions if one.process != "final"]
    assert working
    assert max(one.invoked for one in working) - min(one.invoked for one in working) < 10e9


def test_branches_and_keys_of_a_transaction(tmp_path: Path) -> None:
    """With branches every transaction is on one, and its keys begin with it."""
    history = run(
        partial(Sqlite, str(tmp_path / "db")),
        Workload(("node:A", "edge:B"), 2, branches=("main", "dev")),
        directory=tmp_path / "journals",
        processes=2,
        transactions=60,
    )
    assert {one.branch for one in history.transactions} == {"main", "dev"}
    assert all(op.key[0] == one.branch for one in history.transactions for op in one.ops)
    assert check(history).ok


def test_lost_replies_are_unknown(tmp_path: Path) -> None:
    """An exception is an unknown outcome with a note; ``Aborted`` is a failure."""
    for way, outcome, note in (
        ("raises", Outcome.UNKNOWN, "OSError: connection reset"),
        ("aborts", Outcome.FAILED, "never"),
    ):
        history = run(
            partial(Broken, way),
            MIX,
            directory=tmp_path / way,
            processes=1,
            transactions=3,
            final_reads=False,
        )
        assert {(one.outcome, one.note) for one in history.transactions} == {(outcome, note)}


@pytest.mark.parametrize(
    ("way", "word"),
    [("factory", "no client today"), ("exit", "exit code 3"), ("short", "0 values for")],
)
def test_a_broken_worker_ends_the_run(tmp_path: Path, way: str, word: str) -> None:
    """A worker that cannot work is an error that says why and where its journals are."""
    with pytest.raises(WorkerFailed, match=word) as caught:
        run(partial(Broken, way), MIX, directory=tmp_path, processes=2, transactions=4)
    assert caught.value.journals == str(tmp_path)


def test_a_worker_that_hangs_is_killed(tmp_path: Path) -> None:
    """A client that never answers ends the run when the time is up; what was sent is on file."""
    with pytest.raises(WorkerFailed, match="had not finished"):
        run(
            partial(Broken, "hang"), MIX, directory=tmp_path, processes=1, transactions=4, timeout=3
        )
    (left,) = read_journals(tmp_path).transactions
    assert left.outcome is Outcome.UNKNOWN


def test_a_start_does_not_count(tmp_path: Path) -> None:
    """No Python starts as quickly as this time-out, which is for the work and not for that."""
    history = run(
        partial(Sqlite, str(tmp_path / "db")),
        MIX,
        directory=tmp_path / "journals",
        processes=1,
        transactions=3,
        seconds=60,
        timeout=0.001,
        final_reads=False,
    )
    assert history.count(Outcome.OK) == 3


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({}, "the end of the run"),
        ({"transactions": 0}, "transactions"),
        ({"transactions": 1, "processes": 0}, "processes"),
    ],
)
def test_bad_options_are_refused(tmp_path: Path, options: dict[str, Any], word: str) -> None:
    """What makes no sense is refused by name before anything is started."""
    with pytest.raises(InvalidOption, match=word):
        run(partial(Broken, "exit"), MIX, directory=tmp_path, **options)


def test_a_factory_that_cannot_travel_is_refused(tmp_path: Path) -> None:
    """A lambda cannot be sent to a fresh process, and the error says so."""
    with pytest.raises(InvalidOption, match="cannot be pickled"):
        run(lambda worker: Broken("exit", worker), MIX, directory=tmp_path, transactions=1)


def test_journals_of_another_run_are_not_mixed_in(tmp_path: Path) -> None:
    """A directory that holds journals already is refused."""
    (tmp_path / "w0.0.ndjson").touch()
    with pytest.raises(InvalidOption, match="holds journals already"):
        run(partial(Broken, "exit"), MIX, directory=tmp_path, transactions=1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Workload(()),
        lambda: Workload(("x", "x")),
        lambda: Workload(("x",), length=(0, 1)),
        lambda: Workload(("x",), length=(3, 1)),
        lambda: Workload(("x",), appends=1.5),
        lambda: Workload(("x",), skew=-1),
        lambda: Workload(("x",), rotate_after=0),
    ],
)
def test_bad_workloads_are_refused(make: Callable[[], Workload]) -> None:
    """Every field of a workload is checked and named."""
    with pytest.raises(InvalidOption, match="Workload"):
        make()


def take(workload: Workload, number: int, *, slot: int = 1, first: int = 0) -> list[Any]:
    """Draw transactions from a workload."""
    found = workload.transactions(0, slot=slot, first=first)
    return [next(found) for _ in range(number)]


def test_workloads_are_repeatable() -> None:
    """The same seed gives the same transactions; another seed or incarnation gives others."""
    assert take(MIX, 50) == take(MIX, 50)
    assert take(MIX, 50) != take(MIX, 50, slot=2)
    assert take(MIX, 50) != take(Workload(("x", "y", "z"), seed=6, rotate_after=40), 50)


def test_workloads_keep_to_their_mix() -> None:
    """Length, share of appends, skew and rotation are as asked."""
    steps = take(Workload(("a", "b"), length=(2, 5), appends=0.25, skew=3), 2_000)
    lengths = [len(ops) for _, ops in steps]
    flat = [op for _, ops in steps for op in ops]
    assert set(lengths) == {2, 3, 4, 5}
    assert 0.2 < sum(isinstance(op, Append) for op in flat) / len(flat) < 0.3
    assert 0.85 < sum(op.key == "a" for op in flat) / len(flat) < 0.93
    late = take(Workload((("main", "t"),), rotate_after=10), 1, first=25)[0][1]
    assert {op.key for op in late} == {("main", "t", "2")}


def test_an_invocation_is_on_file_before_it_is_sent(tmp_path: Path) -> None:
    """The client finds its own invocation in the journal, unanswered, while it is at work."""
    path = tmp_path / "w.ndjson"

    class Looks:
        def transact(self, ops: object, branch: str | None) -> list[None]:
            events = [json.loads(line) for line in path.read_text().splitlines()]
            assert [event["event"] for event in events] == ["invoke"]
            return [None]

    with Recorder(path, "w") as recorder:
        recorder.transact(Looks(), (Append("x", 1),))
    (only,) = read_journals(tmp_path).transactions
    assert only.outcome is Outcome.OK, only.note
    assert only.ops == (Append("x", 1),)


def test_a_journal_is_never_written_twice(tmp_path: Path) -> None:
    """Two recorders cannot share a file."""
    Recorder(tmp_path / "w.ndjson", "w").close()
    with pytest.raises(InvalidOption, match="journal"):
        Recorder(tmp_path / "w.ndjson", "w")


def test_no_process_is_left(tmp_path: Path) -> None:
    """After a run that failed, all workers are gone."""
    with pytest.raises(WorkerFailed):
        run(
            partial(Broken, "hang"), MIX, directory=tmp_path, processes=2, transactions=4, timeout=2
        )
    mine = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    if not mine.exists():
        pytest.skip("no list of child processes here")
    names = [Path(f"/proc/{pid}/cmdline").read_text() for pid in mine.read_text().split()]
    assert not [name for name in names if "spawn_main" in name]


def test_values_of_reads_are_checked(tmp_path: Path) -> None:
    """A client that returns no list for a read is told so."""
    with pytest.raises(WorkerFailed, match="expected a list"):
        run(
            partial(Broken, "none"),
            Workload(("x",), appends=0.0),
            directory=tmp_path,
            processes=1,
            transactions=1,
        )
    assert read_journals(tmp_path).transactions[0].ops[0] == Read("x")
