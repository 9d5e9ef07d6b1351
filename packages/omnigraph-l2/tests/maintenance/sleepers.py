"""Processes that are stopped in the middle of something, and go on much later.

A test module has no name that another process can import; this module has.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from upkeepwork import NOTHING

from omnigraph_l1 import failpoints
from omnigraph_l2 import Repository

__all__ = ["ASLEEP", "clean_in_its_sleep", "stopped"]

ASLEEP = 0.2
"""For how many seconds a lease of these processes counts."""
_DEADLINE = 60


@contextmanager
def stopped(job: Callable[..., None], *arguments: Any) -> Iterator[Any]:
    """Start a process, wait until it has stopped itself, and let it go on in the end.

    What it tells can be got from the queue that is given, afterwards.
    """
    context = get_context("spawn")
    told = context.Queue()
    process = context.Process(target=job, args=(*arguments, told))
    process.start()
    assert process.pid is not None
    try:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        yield told
    finally:
        os.kill(process.pid, signal.SIGCONT)
        process.join(_DEADLINE)


def _stop() -> None:
    """Stop this process, and come back when its lease is long past."""
    began = time.monotonic()
    os.kill(os.getpid(), signal.SIGSTOP)
    while time.monotonic() - began < 2 * ASLEEP:
        os.sched_yield()


def clean_in_its_sleep(uri: str, point: str, told: Any) -> None:
    """Clean up at zero age, and be stopped at a named step."""

    def handler(name: str) -> None:
        if name == point:
            with failpoints.handling(lambda _: None):
                _stop()

    with Repository.open(uri, durability="none") as repo:
        repo._leases._seconds = ASLEEP
        repo.snapshot()
        with failpoints.handling(handler):
            told.put(_outcome(lambda: repo.cleanup(NOTHING, dry_run=False)))


def _outcome(work: Callable[[], Any]) -> Any:
    try:
        done = work()
    except Exception as error:  # noqa: BLE001 - the test tells what it should be
        return type(error).__name__
    return done if isinstance(done, (str, list)) else type(done).__name__
