"""A process that is forked is, for a test, the same as one that is started."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from forked_jobs import STEP, fail, is_preloaded, report, write

from campaign.forked_processes import ForkedCrash, ForkedTracedCrash, process_context
from campaign.traced_crash import TracedCrash
from campaign.tracing.file_operation_kill import AtFileOperation
from omnigraph_testing import AtPoint, Crash, Ending

pytestmark = pytest.mark.integration


@pytest.fixture(params=[Crash, ForkedCrash])
def crash(request: pytest.FixtureRequest, tmp_path: Path) -> Crash:
    """Return each kind of runner."""
    made: Crash = request.param(tmp_path / "crash")
    return made


def test_what_a_process_finds_and_leaves(
    crash: Crash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its directory, its environment, its outputs, its failpoints, marks and value."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CAMPAIGN_VARIABLE", "here")
    outcome = crash.run(report)
    assert outcome.ending is Ending.FINISHED, outcome.detail
    assert outcome.value == {
        "directory": str(tmp_path),
        "variable": "here",
        "leads a group": True,
        "arguments": 2,
    }
    assert (outcome.passed, outcome.marks) == ((STEP,), ("half",))
    assert STEP in outcome.declared
    assert (outcome.stdout, outcome.stderr) == ("to stdout\n", "to stderr\n")


def test_an_error_and_a_kill(crash: Crash, tmp_path: Path) -> None:
    """An error has its type; a process that is killed stops there."""
    failed = crash.run(fail)
    assert (failed.ending, failed.error_type) == (Ending.RAISED, "ValueError")
    killed = crash.run(write, str(tmp_path / "file"), kill=AtPoint(STEP))
    assert (killed.ending, killed.killed_at) == (Ending.KILLED, f"at {STEP}")
    assert (tmp_path / "file").read_bytes() == b"one"


def test_a_kill_at_an_operation_on_files(traced_crash: TracedCrash, tmp_path: Path) -> None:
    """What a forked process does to files is traced from its beginning."""
    forked = ForkedTracedCrash(traced_crash.directory)
    kill = AtFileOperation(2, root=tmp_path, kind="write")
    assert forked.run(write, str(tmp_path / "file"), kill=kill).killed
    assert (tmp_path / "file").read_bytes() == b"one"
    trace = forked.record(write, str(tmp_path / "other"), root=tmp_path)
    assert len(trace.file_operations) == 3


def test_a_process_has_the_environment_of_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the one that the server had when it began."""
    monkeypatch.setenv("CAMPAIGN_VARIABLE", "changed")
    with ProcessPoolExecutor(1, mp_context=process_context()) as pool:
        assert pool.submit(report).result(60)["variable"] == "changed"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes are spawned")
def test_nothing_is_imported_again(tmp_path: Path) -> None:
    """Else the processes would cost as much as those that are started."""
    assert ForkedCrash(tmp_path / "forked").run(is_preloaded).value
    assert not Crash(tmp_path / "started").run(is_preloaded).value
