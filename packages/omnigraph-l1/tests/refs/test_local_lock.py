"""The lock of a directory of refs: whoever holds it, dies or hangs with it, or waits for it."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from omnigraph_l1 import JsonRefs, directory_lock
from omnigraph_l1.deadlines import LOCK_SECONDS, within
from omnigraph_l1.errors import StoreUnavailable, UnsafeStore


def _times_open(path: Path) -> int:
    links = [os.fspath(entry) for entry in Path("/proc/self/fd").iterdir()]
    return sum(os.path.realpath(link) == os.path.realpath(path) for link in links)


def test_a_lock_file_that_was_removed_is_noticed(tmp_path: Path) -> None:
    """A waiter whose lock file was removed meanwhile locks the new one, with everybody else."""
    path = tmp_path / ".lock"
    held = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    entered = threading.Event()
    leave = threading.Event()

    def wait_for_it() -> None:
        with directory_lock(path, patience=30):
            entered.set()
            leave.wait(30)

    waiter = threading.Thread(target=wait_for_it)
    waiter.start()
    deadline = time.monotonic() + 30
    while _times_open(path) < 2:
        assert time.monotonic() < deadline, "the waiter never opened the lock file"
    path.unlink()
    os.close(held)
    assert entered.wait(30)
    with pytest.raises(StoreUnavailable), directory_lock(path, patience=0.05):
        pass
    leave.set()
    waiter.join()


def test_a_holder_that_hangs_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the lock stays held, a writer says so in the end; readers and probes do not care."""
    refs = JsonRefs.open(tmp_path)
    ref = refs.create("main", {})
    wait = threading.Event.wait

    def hurry(event: threading.Event, seconds: float | None = None) -> bool:
        return wait(event, seconds if seconds is None else seconds / 600)

    with directory_lock(tmp_path / ".lock", patience=1):
        with monkeypatch.context() as patch:
            patch.setattr(threading.Event, "wait", hurry)
            with pytest.raises(StoreUnavailable, match="held by another process for 15 s"):
                refs.replace(ref, {})
            refs.probe()
        assert refs.list() == (ref,)
    refs.replace(ref, {})


def test_the_lock_is_waited_for_once_and_no_longer_than_is_asked(tmp_path: Path) -> None:
    """A wait that was in vain is not begun again."""
    refs = JsonRefs.open(tmp_path)
    ref = refs.create("main", {})
    started = time.monotonic()
    with (
        directory_lock(tmp_path / ".lock", patience=1),
        within(1.0),
        pytest.raises(StoreUnavailable, match="held by another process for 1 s"),
    ):
        refs.replace(ref, {})
    assert time.monotonic() - started < LOCK_SECONDS
    refs.replace(ref, {})


FORKS_AND_DIES = """
import os, signal, sys
from pathlib import Path
from omnigraph_l1 import directory_lock
with directory_lock(Path(sys.argv[1]), patience=1):
    if os.fork() == 0:
        os.write(1, b"%d" % os.getpid())
        signal.pause()
    sys.stdin.read(1)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    """A process that was forked while its parent held the lock does not hold it on when the parent
    is killed.
    """
    command = [sys.executable, "-c", FORKS_AND_DIES, str(tmp_path / ".lock")]
    parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.read1(20))
    try:
        with pytest.raises(StoreUnavailable), directory_lock(tmp_path / ".lock", patience=0.05):
            pass
        assert parent.stdin is not None
        parent.stdin.write(b"x")
        parent.stdin.close()
        parent.wait(30)
        with directory_lock(tmp_path / ".lock", patience=1):
            os.kill(child, 0)
    finally:
        os.kill(child, signal.SIGKILL)
        parent.stdout.close()


def test_locks_that_do_not_exclude_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system whose locks exclude nobody, or that has none, is refused by the probe."""
    refs = JsonRefs.open(tmp_path)
    refs.probe()
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    with pytest.raises(UnsafeStore, match="two holders"):
        refs.probe()

    def unsupported(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with pytest.raises(UnsafeStore, match="no locks"):
        refs.probe()


def _all_wait(path: Path, count: int) -> bool:
    return _waiting_for(path) == count


def _eventually(condition: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.001)


def _waiting_for(path: Path) -> int:
    inode = f":{path.stat().st_ino} "
    locks = Path("/proc/locks").read_text()
    return sum("-> FLOCK" in line and inode in line for line in locks.splitlines())


def test_waiters_get_the_lock_in_their_order(tmp_path: Path) -> None:
    """Nobody is overtaken, so that the wait is bounded by those who came first."""
    path = tmp_path / ".lock"
    order: list[int] = []

    def wait_for_it(number: int) -> None:
        with directory_lock(path, patience=30):
            order.append(number)

    with directory_lock(path, patience=1):
        waiters = [threading.Thread(target=wait_for_it, args=(n,)) for n in range(6)]
        for queued, waiter in enumerate(waiters, 1):
            waiter.start()
            _eventually(partial(_all_wait, path, queued), "the waiter never queued up")
    for waiter in waiters:
        waiter.join()
    assert order == list(range(6))


def test_a_waiter_that_gave_up_does_not_keep_the_lock(tmp_path: Path) -> None:
    """What it gets too late it lets go of at once."""
    path = tmp_path / ".lock"
    with directory_lock(path, patience=1):
        with pytest.raises(StoreUnavailable), directory_lock(path, patience=0.05):
            pass
        _eventually(lambda: _waiting_for(path) == 1, "nobody waits any more")
    with directory_lock(path, patience=5):
        pass
    _eventually(lambda: _times_open(path) == 0, "the late waiter never let go")
