"""Calls in threads of their own: their results, their errors, and what they do to an exit."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from contextvars import ContextVar
from pathlib import Path

import pytest

from omnigraph_l1.abandonable_calls import PendingCall

_setting: ContextVar[str] = ContextVar("_setting")


def test_a_call_gives_what_it_returns_or_raises() -> None:
    """Even what is no ``Exception`` comes out in the thread of the caller."""
    call = PendingCall(lambda: 7)
    assert call.wait(30)
    assert call.result() == 7
    interrupted = PendingCall(_interrupt)
    assert interrupted.wait(30)
    with pytest.raises(KeyboardInterrupt):
        interrupted.result()


def _interrupt() -> None:
    raise KeyboardInterrupt


def test_a_call_sees_the_context_of_its_caller() -> None:
    """Bounds of waiting and fields of events are there in its thread."""
    token = _setting.set("mine")
    try:
        call = PendingCall(_setting.get)
        assert call.wait(30)
        assert call.result() == "mine"
    finally:
        _setting.reset(token)


def test_a_call_that_nothing_waits_for_goes_on() -> None:
    """Another one is not held up by it."""
    go_on = threading.Event()
    abandoned = PendingCall(lambda: go_on.wait(30))
    assert not abandoned.wait(0)
    other = PendingCall(lambda: 1)
    assert other.wait(30)
    go_on.set()
    assert abandoned.wait(30)
    assert abandoned.result()


PROGRAM = """
import sys
import lance
import pyarrow as pa
from omnigraph_l1.abandonable_calls import PendingCall

def write():
    while True:
        lance.write_dataset(pa.table({"a": [1]}), sys.argv[1], mode="overwrite")

call = PendingCall(write)
assert not call.wait(0.5)
sys.exit(3)
"""


def test_a_call_that_ends_during_the_exit_leaves_the_exit_status(tmp_path: Path) -> None:
    """Without a precaution Rust aborts the whole process then."""
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path / "t")]
    done = subprocess.run(command, check=False, capture_output=True, timeout=120)
    assert done.returncode == 3, done.stderr


_ABORTS_AT_EXIT = """
import atexit, os, time
atexit.register(os.abort)  # runs after the hook of the package, which registers itself later
from omnigraph_l1 import deadlines
from omnigraph_l1.abandonable_calls import PendingCall
deadlines.EXIT_SECONDS = 1
assert not PendingCall(lambda: time.sleep(60)).wait(0.01)
"""


def test_an_abort_at_exit_still_ends_the_process() -> None:
    """Also while a call is abandoned. Without a bound the process would wait for ever."""
    ended = subprocess.run([sys.executable, "-c", _ABORTS_AT_EXIT], check=False, timeout=50)
    assert ended.returncode == -signal.SIGALRM
