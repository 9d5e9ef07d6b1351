"""``TracedCrash``: the crash runner that also traces operations on files.

It kills a process at an operation on files, and records operations for power cuts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

from campaign.power_cuts.operation_trace import Trace
from campaign.traced_run import record_run, run_traced
from campaign.tracing.file_operation_kill import AtFileOperation
from campaign.tracing_support import require_tracing
from omnigraph_testing import Crash, Outcome
from omnigraph_testing._crash.crash_payload import Payload, pack_function
from omnigraph_testing._crash.crash_runner import DEADLINE, require_finished
from omnigraph_testing._crash.kill_points import InjectsFaults, Kill
from omnigraph_testing._crash.run_dir import RunDir

__all__ = ["TracedCrash"]


@attrs.define
class TracedCrash(Crash):
    """A ``Crash`` that accepts ``AtFileOperation`` and ``everywhere(by="file operations")``."""

    def record(
        self,
        function: Callable[..., Any],
        /,
        *args: Any,
        root: str | os.PathLike[str],
        deadline: float = DEADLINE,
        **kwargs: Any,
    ) -> Trace:
        """Run a function undisturbed and record what it does to the files below ``root``."""
        return self._record(pack_function(function, args, kwargs), root, deadline)

    def _record(self, payload: Payload, root: str | os.PathLike[str], deadline: float) -> Trace:
        require_tracing()
        run_dir = self._new_run(payload)
        outcome, trace = record_run(
            run_dir, root=root, deadline=deadline, snapshot=run_dir.path / "before"
        )
        require_finished(outcome)
        return trace

    def _new_run(self, payload: Payload, kill: Kill | None = None) -> RunDir:
        return RunDir(self._new_directory("run"), payload, kill)

    def _execute(self, run_dir: RunDir, deadline: float) -> Outcome:
        if not isinstance(run_dir.kill, AtFileOperation):
            return super()._execute(run_dir, deadline)
        require_tracing()
        return run_traced(run_dir, root=run_dir.kill.root, deadline=deadline)

    def _find_points(
        self,
        function: Callable[..., Any],
        ready: Callable[[Path], Sequence[Any]],
        by: str,
        store: InjectsFaults | None,
        deadline: float,
    ) -> list[Kill]:
        if by != "file operations":
            return super()._find_points(function, ready, by, store, deadline)
        directory = self._new_directory("start")
        trace = self._record(pack_function(function, ready(directory), {}), directory, deadline)
        numbers = range(1, len(trace.file_operations) + 1)
        return [AtFileOperation(number, root=directory) for number in numbers]

    def _move_kill(self, kill: Kill, directory: Path) -> Kill:
        return attrs.evolve(kill, root=directory) if isinstance(kill, AtFileOperation) else kill
