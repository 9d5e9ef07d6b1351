"""What one process of a run does: make a client, wait for the start, work, and say how it ended.

Invariant: it stops when its parent is gone. It sends its parent ``ready``, then ``done`` or the
text of an error, and receives the deadline in between.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Iterable, Iterator
from itertools import islice
from multiprocessing.connection import Connection
from typing import Any

from attrs import frozen

from omnigraph_testing.histories._client_factory import Parcel
from omnigraph_testing.histories._history_model import MicroOp
from omnigraph_testing.histories._process_journal import Recorder
from omnigraph_testing.histories._random_workload import Workload

__all__ = ["DONE", "READY", "Step", "Task", "Worker", "work"]

READY, DONE = "ready", "done"

Step = tuple["str | None", tuple[MicroOp, ...]]


@frozen
class Worker:
    """Who a client is made for. ``process`` names this incarnation, ``index`` the worker."""

    process: str
    index: int
    incarnation: int


@frozen
class Task:
    """All that a process needs to know. ``steps`` replace the workload where they are given."""

    worker: Worker
    factory: Parcel
    journal: str
    workload: Workload
    slot: int
    first: int
    most: int | None
    steps: tuple[Step, ...] = ()


def work(task: Task, parent: Connection) -> None:
    """Do the task. This is the target of the spawned process."""
    try:
        client = task.factory.unpack()(task.worker)
        recorder = Recorder(task.journal, task.worker.process)
        parent.send(READY)
        deadline: int | None = parent.recv()
        for branch, ops in _until(deadline, _steps(task), os.getppid()):
            recorder.transact(client, ops, branch)
        recorder.close()
        _close(client)
        parent.send(DONE)
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        return  # the parent is gone, or going
    except BaseException:  # noqa: BLE001  # whatever it is, the parent must hear of it
        parent.send(traceback.format_exc())


def _steps(task: Task) -> Iterable[Step]:
    if task.steps:
        return task.steps
    endless = task.workload.transactions(task.worker.index, slot=task.slot, first=task.first)
    return endless if task.most is None else islice(endless, task.most)


def _until(deadline: int | None, steps: Iterable[Step], parent: int) -> Iterator[Step]:
    for step in steps:
        if deadline is not None and time.monotonic_ns() >= deadline:
            return
        if os.getppid() != parent:
            return
        yield step


def _close(client: Any) -> None:
    close = getattr(client, "close", None)
    if callable(close):
        close()
