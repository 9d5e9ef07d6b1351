"""The processes of one run: spawned, never forked; started together; killed and begun again.

Invariant: when the crew is dismissed, no process of it is left. A worker that dies or reports an
error without having been killed ends the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType

from attrs import define, field, frozen

from omnigraph_testing.errors import WorkerFailed
from omnigraph_testing.histories._client_factory import Parcel
from omnigraph_testing.histories._process_journal import count_invocations
from omnigraph_testing.histories._random_workload import Workload
from omnigraph_testing.histories._worker_main import DONE, READY, Step, Task, Worker, work

__all__ = ["Crew", "Job"]

_LONGEST_EXIT = 30.0


@frozen
class Job:
    """What is to be done, with whose clients, and where it is written down."""

    factory: Parcel
    workload: Workload
    directory: Path


@define(eq=False)
class _Member:
    task: Task
    process: BaseProcess
    pipe: Connection
    started: bool = False

    @property
    def name(self) -> str:
        return self.task.worker.process


@define(eq=False)
class Crew:
    """The living members. ``deadline`` is what each receives when it may start."""

    job: Job
    deadline: int | None = field(default=None, init=False)
    _members: list[_Member] = field(factory=list, init=False)
    _slots: int = field(default=0, init=False)
    _open: bool = field(default=False, init=False)

    def __enter__(self) -> Crew:  # noqa: PYI034  # Self needs Python 3.11
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for member in self._members:
            member.process.kill()
        for member in self._members:
            member.process.join()
            member.pipe.close()
        self._members.clear()

    @property
    def names(self) -> list[str]:
        """The processes that are still at work."""
        return [member.name for member in self._members]

    def hire(
        self, worker: Worker, *, most: int | None, first: int = 0, steps: Sequence[Step] = ()
    ) -> None:
        """Spawn a process for this worker. It waits for ``open`` if that was not called yet."""
        self._slots += 1
        task = Task(
            worker=worker,
            factory=self.job.factory,
            journal=str(self.job.directory / f"{worker.process}.ndjson"),
            workload=self.job.workload,
            slot=self._slots,
            first=first,
            most=most,
            steps=tuple(steps),
        )
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(task, theirs), name=worker.process)
        process.start()
        theirs.close()
        self._members.append(_Member(task, process, ours))

    def listen(self, seconds: float) -> None:
        """Wait for news, no longer than ``seconds``, and act on it."""
        pipes = {member.pipe: member for member in self._members}
        for pipe in wait(list(pipes), timeout=max(0.0, seconds)):
            member = pipes[pipe]  # type: ignore[index]  # one of those that were passed
            news = _news(member.pipe)
            if news is None:
                raise self._gone(member)
            self._heed(member, news)

    def all_ready(self) -> bool:
        """Whether every member has a client and waits for the start."""
        return all(member.started for member in self._members)

    def open(self, deadline: int | None) -> None:
        """Start everybody who is ready, and all others as soon as they are."""
        self.deadline, self._open = deadline, True
        for member in self._members:
            if member.started:
                self._tell(member)

    def kill(self, choose: Callable[[int], int]) -> Worker | None:
        """SIGKILL one member and hire its next incarnation for what is left of its work."""
        if not self._members:
            return None
        member = self._members[choose(len(self._members))]
        member.process.kill()
        member.process.join()
        while (news := _news(member.pipe)) is not None:
            self._heed(member, news)
            if news == DONE:
                return None
        self._leave(member)
        task = member.task
        begun = count_invocations(task.journal)
        left = None if task.most is None else task.most - begun
        late = self.deadline is not None and time.monotonic_ns() >= self.deadline
        if not late and (left is None or left > 0):
            again = Worker(
                process=f"w{task.worker.index}.{task.worker.incarnation + 1}",
                index=task.worker.index,
                incarnation=task.worker.incarnation + 1,
            )
            self.hire(again, most=left, first=task.first + begun)
        return task.worker

    def find_overdue(self) -> WorkerFailed:
        """Make the error that names the members that are still there."""
        return WorkerFailed(
            process=", ".join(self.names),
            detail="it had not finished when the time was up, and was killed",
            journals=str(self.job.directory),
        )

    def _heed(self, member: _Member, news: str) -> None:
        if news == READY:
            member.started = True
            if self._open:
                self._tell(member)
        elif news == DONE:
            self._leave(member)
        else:
            raise self._failure(member, f"it raised an error:\n{news}")

    def _tell(self, member: _Member) -> None:
        try:
            member.pipe.send(self.deadline)
        except OSError:
            member.started = False  # it is dead; ``listen`` finds out

    def _leave(self, member: _Member) -> None:
        self._members.remove(member)
        member.pipe.close()
        member.process.join(_LONGEST_EXIT)
        if member.process.is_alive():
            member.process.kill()
            member.process.join()

    def _gone(self, member: _Member) -> WorkerFailed:
        member.process.join(_LONGEST_EXIT)
        code = member.process.exitcode
        return self._failure(member, f"it ended with exit code {code} before its work was done")

    def _failure(self, member: _Member, detail: str) -> WorkerFailed:
        return WorkerFailed(process=member.name, detail=detail, journals=str(self.job.directory))


def _news(pipe: Connection) -> str | None:
    """Receive what was said; None if the member is dead and has nothing left to say."""
    try:
        return str(pipe.recv())
    except (EOFError, OSError):
        return None
