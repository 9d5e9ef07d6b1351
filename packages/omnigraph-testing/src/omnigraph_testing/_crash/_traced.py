"""Run a process whose file operations are followed: to record them, or to kill it at one.

Always: the process and everything that it started are gone when ``run_traced`` returns or raises.
The tracer has a thread of its own, because the kernel ties a traced process to one thread.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path

import attrs

from omnigraph_testing._crash._home import Home
from omnigraph_testing._crash._kills import AtFileOperation
from omnigraph_testing._crash._outcome import Outcome
from omnigraph_testing._crash._run import kill_group
from omnigraph_testing._disk._identities import Identities
from omnigraph_testing._disk._operations import Operation
from omnigraph_testing._disk._reports import ReportReader
from omnigraph_testing._disk._snapshot import number_tree, real_root, take_snapshot
from omnigraph_testing._disk._syscalls import filter_program
from omnigraph_testing._disk._trace import Trace
from omnigraph_testing._disk._tracer import NEVER, FollowResult, follow
from omnigraph_testing.errors import CrashDeadline

__all__ = ["record", "run_traced"]


def run_traced(home: Home, *, root: str | os.PathLike[str], deadline: float) -> Outcome:
    """Follow a run below ``root``, and kill it where its ``AtFileOperation`` says."""
    return _Session(home, _numbered(root)).run(deadline)[0]


def record(
    home: Home, *, root: str | os.PathLike[str], deadline: float, snapshot: Path
) -> tuple[Outcome, Trace]:
    """Follow a run below ``root`` and keep all it did, with a copy of the tree before it."""
    files = _numbered(root)
    before = take_snapshot(files, snapshot)
    outcome, operations = _Session(home, files).run(deadline)
    return outcome, Trace(root=files.root, operations=operations, snapshot=before)


def _numbered(root: str | os.PathLike[str]) -> Identities:
    files = Identities(real_root(root))
    number_tree(files)
    return files


@attrs.define
class _Session:
    """The tracer's thread, and the process in it."""

    home: Home
    files: Identities
    _pid: int | None = None
    _result: FollowResult | None = None
    _failure: BaseException | None = None

    def run(self, deadline: float) -> tuple[Outcome, tuple[Operation, ...]]:
        begin = time.monotonic()
        result = self._follow_until(deadline)
        outcome = self.home.outcome(
            return_code=os.waitstatus_to_exitcode(result.status),
            seconds=time.monotonic() - begin,
            killed_at=result.killed_at,
        )
        return outcome, result.operations

    def _follow_until(self, deadline: float) -> FollowResult:
        thread = threading.Thread(target=self._follow, name="omnigraph-tracer", daemon=True)
        thread.start()
        try:
            thread.join(deadline)
            late = thread.is_alive()
        finally:
            if self._pid is not None and thread.is_alive():
                kill_group(self._pid)
            thread.join()
        if self._failure is not None:
            raise self._failure
        if late or self._result is None:
            raise CrashDeadline(
                what=self.home.payload.label,
                seconds=deadline,
                passed=self.home.passed(),
                stderr=self.home.text("stderr"),
            )
        return self._result

    def _follow(self) -> None:
        try:
            process, started, told_follow = self.home.start(program=filter_program())
            self._pid = process.pid
            kill = self.home.kill
            stop = kill.stopper() if isinstance(kill, AtFileOperation) else NEVER
            try:
                self._result = follow(
                    process.pid,
                    files=self.files,
                    reports=ReportReader(os.path.realpath(self.home.report)),
                    stop=stop,
                    attached=lambda: _let_go(told_follow),
                )
            finally:
                process.returncode = 0  # it was waited for already, by the tracer
                os.close(started)
                os.close(told_follow)
        except BaseException as failure:  # noqa: BLE001 - it is raised again in ``run``
            self._failure = failure


def _let_go(told_follow: int) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(told_follow, b"!")
