"""Several real processes that do something at the same time, and what each of them returned."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from typing import Any

from campaign.forked_processes import process_context

__all__ = ["at_once", "race", "race_of"]

_DEADLINE = 900.0
_Call = tuple[Callable[..., Any], tuple[Any, ...]]


def at_once(job: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Run a job in one process for each tuple of arguments, all at the same time.

    Return what they returned, in the order of the arguments; fail where one of them failed.
    """
    return race_of([(_wait_first, (job, each)) for each in arguments])


def race(job: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Run a job in one process for each tuple of arguments; it waits itself when it is ready."""
    return race_of([(job, each) for each in arguments])


def race_of(calls: list[_Call]) -> list[Any]:
    """Run jobs at once, each in a process of its own; return what they returned, in order.

    The last argument of a job is a barrier, for which it waits when it is ready.
    """
    context = process_context()
    barrier = context.Barrier(len(calls))
    processes, pipes = [], []
    deadline = time.monotonic() + _DEADLINE
    try:
        for call in calls:
            ours, theirs = context.Pipe(duplex=False)
            pipes.append(ours)
            processes.append(context.Process(target=_run, args=(theirs, barrier, *call)))
            processes[-1].start()
            theirs.close()
        answers = [_receive(pipe, deadline) for pipe in pipes]
    finally:
        for process in processes:
            process.kill()
            process.join()
        for pipe in pipes:
            pipe.close()
    failures = [answer for succeeded, answer in answers if not succeeded]
    assert not failures, "\n".join(failures)
    return [answer for _, answer in answers]


def _receive(pipe: Connection, deadline: float) -> tuple[bool, Any]:
    assert pipe.poll(max(0.0, deadline - time.monotonic())), "a process did not come to its end"
    try:
        answer: tuple[bool, Any] = pipe.recv()
    except EOFError:
        return False, "a process died"
    return answer


def _run(
    answers: Connection, barrier: Any, job: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    try:
        answers.send((True, job(*arguments, barrier)))
    except BaseException:  # noqa: BLE001 - reported in the parent
        barrier.abort()
        answers.send((False, traceback.format_exc()))


def _wait_first(job: Callable[..., Any], arguments: tuple[Any, ...], barrier: Any) -> Any:
    barrier.wait(_DEADLINE)
    return job(*arguments)
