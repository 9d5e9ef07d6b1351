"""Run a process whose file operations are followed: to record them, or to kill it at one.

Invariant: the process and everything that it started are gone when ``run_traced`` returns or
raises. The tracer has a thread of its own, because the kernel ties a traced process to one thread.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path

import attrs

from campaign.power_cuts.operation_trace import Trace
from campaign.tracing.file_identities import Identities
from campaign.tracing.file_operation_kill import AtFileOperation
from campaign.tracing.file_operations import Operation
from campaign.tracing.report_reader import ReportReader
from campaign.tracing.syscall_filter import filter_program
from campaign.tracing.tracer import NEVER, FollowResult, follow
from campaign.tracing.tree_snapshot import number_tree, real_root, take_snapshot
from omnigraph_testing._crash.plain_run import kill_group
from omnigraph_testing._crash.process_outcome import Outcome
from omnigraph_testing._crash.run_dir import RunDir
from omnigraph_testing.errors import CrashDeadline

__all__ = ["record_run", "run_traced"]

_PRELUDE = Path(__file__).parent / "tracing" / "kernel_filter_prelude.py"


def run_traced(run_dir: RunDir, *, root: str | os.PathLike[str], deadline: float) -> Outcome:
    """Follow a run below ``root``, and kill it where its ``AtFileOperation`` says."""
    return _Session(run_dir, _numbered(root)).run(deadline)[0]


def record_run(
    run_dir: RunDir, *, root: str | os.PathLike[str], deadline: float, snapshot: Path
) -> tuple[Outcome, Trace]:
    """Follow a run below ``root`` and keep all it did, with a copy of the tree before it."""
    files = _numbered(root)
    before = take_snapshot(files, snapshot)
    outcome, operations = _Session(run_dir, files).run(deadline)
    return outcome, Trace(root=files.root, operations=operations, snapshot=before)


def _numbered(root: str | os.PathLike[str]) -> Identities:
    files = Identities(real_root(root))
    number_tree(files)
    return files


@attrs.define
class _Session:
    """The tracer's thread, and the process in it."""

    run_dir: RunDir
    files: Identities
    _pid: int | None = None
    _result: FollowResult | None = None
    _failure: BaseException | None = None

    def run(self, deadline: float) -> tuple[Outcome, tuple[Operation, ...]]:
        begin = time.monotonic()
        result = self._follow_until(deadline)
        outcome = self.run_dir.outcome(
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
                what=self.run_dir.payload.label,
                seconds=deadline,
                passed=self.run_dir.read_passed_points(),
                stderr=self.run_dir.text("stderr"),
            )
        return self._result

    def _follow(self) -> None:
        try:
            follow_end, release = os.pipe()
            settings = {"follow": follow_end, "program": filter_program().hex()}
            try:
                process, started = self.run_dir.start(
                    prelude=(_PRELUDE, settings), pass_fds=(follow_end,)
                )
            finally:
                os.close(follow_end)
            self._pid = process.pid
            kill = self.run_dir.kill
            stop = kill.stopper() if isinstance(kill, AtFileOperation) else NEVER
            try:
                self._result = follow(
                    process.pid,
                    files=self.files,
                    reports=ReportReader(os.path.realpath(self.run_dir.report)),
                    stop=stop,
                    attached=lambda: _release(release),
                )
            finally:
                process.returncode = 0  # it was waited for already, by the tracer
                os.close(started)
                os.close(release)
        except BaseException as failure:  # noqa: BLE001 - it is raised again in ``run``
            self._failure = failure


def _release(release: int) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(release, b"!")
