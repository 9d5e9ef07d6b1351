"""Several real processes that do something at the same time, and what each of them told."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["race", "race_of"]

_DEADLINE = 300


def race(job: Callable[..., None], arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Run a job in one process for each tuple of arguments, all at once."""
    return race_of([(job, each) for each in arguments])


def race_of(calls: list[tuple[Callable[..., None], tuple[Any, ...]]]) -> list[Any]:
    """Run jobs at once, each in a process of its own; give what they told, in any order.

    A job is given a barrier, for which it waits when it is ready, and a queue, into which it puts
    one answer.
    """
    context = multiprocessing.get_context("spawn")
    start, told = context.Barrier(len(calls)), context.Queue()
    # One that hangs ends with the test run.
    racers = [
        context.Process(target=job, args=(*each, start, told), daemon=True) for job, each in calls
    ]
    for racer in racers:
        racer.start()
    found = [told.get(timeout=_DEADLINE) for _ in racers]
    for racer in racers:
        racer.join(_DEADLINE)
    assert [racer.exitcode for racer in racers] == [0] * len(racers)
    return found
