"""Follow a process and its children, see every operation on files below a root, kill on demand.

Rust, C and Python all write through the kernel, so that is where one has to look. A filter in the
child makes the kernel stop a thread at calls that touch files; here the call is read, let happen,
and read again. Always: only one such call is under way at a time, so the recorded order is the
order in which things really happened; everything that was followed is dead when ``follow``
returns. ``follow`` must run in a thread of its own which also starts the process: the kernel
reports to that thread only, and nobody else's children are reaped.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections import deque
from collections.abc import Callable

import attrs

from campaign.tracing import content_calls as _contents
from campaign.tracing import name_calls as _names
from campaign.tracing import ptrace as _ptrace
from campaign.tracing.file_identities import Identities
from campaign.tracing.file_operations import Operation
from campaign.tracing.pending_call import Begun
from campaign.tracing.report_reader import ReportReader
from campaign.tracing.syscall_filter import names

__all__ = ["NEVER", "FollowResult", "Stop", "follow"]

_WALL, _NO_OTHER_THREADS = 0x40000000, 0x20000000
_JOB_CONTROL = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
_READERS = {**_names.READERS, **_contents.READERS}

Stop = Callable[[Begun, bool], bool]


def NEVER(_begun: Begun, _done: bool) -> bool:  # noqa: N802, FBT001 - a constant that is called
    """Kill nowhere."""
    return False


@attrs.frozen(kw_only=True)
class FollowResult:
    """How the first process ended, as the kernel puts it, and what was seen until then."""

    status: int
    operations: tuple[Operation, ...]
    killed_at: str | None


@attrs.define(kw_only=True)
class _Tracer:
    main: int
    files: Identities
    reports: ReportReader
    stop: Stop
    operations: list[Operation] = attrs.field(factory=list)
    killed_at: str | None = None
    _status: int | None = None
    _threads: set[int] = attrs.field(factory=set)
    _under_way: tuple[int, Begun] | None = None
    _waiting: deque[int] = attrs.field(factory=deque)
    _calls: dict[int, str] = attrs.field(factory=names)

    def run(self) -> int:
        self._threads.add(self.main)
        while self._threads:
            try:
                tid, status = os.waitpid(-1, _WALL | _NO_OTHER_THREADS)
            except ChildProcessError:
                break
            if os.WIFSTOPPED(status):
                self._threads.add(tid)
                self._stopped(tid, os.WSTOPSIG(status), status >> 16)
            else:
                self._ended(tid, status)
        return self._status if self._status is not None else signal.SIGKILL

    def _ended(self, tid: int, status: int) -> None:
        self._threads.discard(tid)
        if self._under_way is not None and self._under_way[0] == tid:
            self._over()
        if tid == self.main:
            self._status = status
            self.kill()  # whatever the process left running

    def _stopped(self, tid: int, number: int, event: int) -> None:
        if event == _ptrace.EVENT_SECCOMP:
            self._at_call(tid)
        elif number == _ptrace.SYSCALL_STOP:
            self._after_call(tid)
        elif event == _ptrace.EVENT_STOP and number in _JOB_CONTROL:
            _ptrace.listen(tid)
        elif event:
            _ptrace.resume(tid)
        else:
            _ptrace.resume(tid, signal=number)

    def _at_call(self, tid: int) -> None:
        call = _ptrace.call_at_stop(tid)
        name = None if call is None else self._calls.get(call.number)
        if call is None or name is None:
            _ptrace.resume(tid)
            return
        begun = self._read(call, name)
        if begun is None:
            _ptrace.resume(tid)
        elif self._under_way is not None:
            begun.close()
            self._waiting.append(tid)
        elif self.stop(begun, False):
            self.killed_at = f"before {begun.kind} {begun.path}"
            begun.close()
            self.kill()
        else:
            self._under_way = (tid, begun)
            _ptrace.resume(tid, to_exit_of_call=True)

    def _read(self, call: _ptrace.Call, name: str) -> Begun | None:
        reported = self.reports.read(call, name)
        if reported is not None:
            return reported
        try:
            return _READERS[name](call, name, self.files)
        except (FileNotFoundError, ProcessLookupError):
            return None  # killed meanwhile, or it names something that is not there: it will fail

    def _after_call(self, tid: int) -> None:
        result = _ptrace.result_at_stop(tid)
        if self._under_way is None or self._under_way[0] != tid:
            _ptrace.resume(tid)
            return
        begun = self._under_way[1]
        done = begun.finish(result) if result is not None and result >= 0 else []
        self.operations.extend(done)
        if done and self.stop(begun, True):
            self.killed_at = f"after {begun.kind} {begun.path}"
            self.kill()
        _ptrace.resume(tid)
        self._over()

    def _over(self) -> None:
        if self._under_way is not None:
            self._under_way[1].close()
            self._under_way = None
        while self._waiting and self._under_way is None:
            self._at_call(self._waiting.popleft())

    def kill(self) -> None:
        for tid in list(self._threads):
            with contextlib.suppress(ProcessLookupError):
                os.kill(tid, signal.SIGKILL)


def follow(
    pid: int, *, files: Identities, reports: ReportReader, stop: Stop, attached: Callable[[], None]
) -> FollowResult:
    """Attach to a process that waits for it, then follow until it and its children are gone."""
    tracer = _Tracer(main=pid, files=files, reports=reports, stop=stop)
    try:
        _ptrace.attach(pid)
        attached()
        status = tracer.run()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        tracer.kill()
        tracer.stop = NEVER
        _reap()
        raise
    return FollowResult(
        status=status, operations=tuple(tracer.operations), killed_at=tracer.killed_at
    )


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            tid, status = os.waitpid(-1, _WALL | _NO_OTHER_THREADS)
            if os.WIFSTOPPED(status):
                _ptrace.resume(tid, signal=signal.SIGKILL)
