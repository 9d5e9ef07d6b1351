"""The directory that a process under test and its parent share: plan, report, output, result.

Always: one directory for one run. Nothing in it lies below a root that is recorded.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs

from omnigraph_testing._crash._kills import AtPoint, Kill
from omnigraph_testing._crash._mark import REPORT_VARIABLE
from omnigraph_testing._crash._outcome import Ending, Outcome
from omnigraph_testing._crash._payload import Payload

__all__ = ["Home"]

_CHILD = Path(__file__).with_name("_child.py")


@attrs.define
class Home:
    """One run's directory, from the plan to the outcome."""

    path: Path
    payload: Payload
    kill: Kill | None

    @property
    def report(self) -> Path:
        """Where the process appends failpoints and marks."""
        return self.path / "report"

    def start(self, *, program: bytes | None) -> tuple[subprocess.Popen[bytes], int, int]:
        """Start the process.

        Gives it back with two ends of pipes: one that says that the function begins, one that it
        waits for if there is a ``program`` for the kernel.
        """
        started, told_start = os.pipe()
        follow, told_follow = os.pipe()
        try:
            self._write_plan(program, told_start, follow)
            with (self.path / "stdout").open("wb") as out, (self.path / "stderr").open("wb") as err:
                process = subprocess.Popen(  # noqa: S603 - our own interpreter
                    [sys.executable, str(_CHILD), str(self.path)],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    env=self._environment(),
                    pass_fds=(told_start, follow),
                    start_new_session=True,
                )
        finally:
            os.close(told_start)
            os.close(follow)
        return process, started, told_follow

    def _write_plan(self, program: bytes | None, started: int, follow: int) -> None:
        self.report.write_bytes(b"")
        (self.path / "call.pickle").write_bytes(self.payload.call)
        plan = {
            "parent": os.getpid(),
            "filter": None if program is None else program.hex(),
            "started": started,
            "follow": follow,
            "sys_path": sys.path,
            "modules": self.payload.modules,
            "main": self.payload.main,
            "script": self.payload.script,
            "script_arguments": self.payload.script_arguments,
        }
        (self.path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")

    def _environment(self) -> dict[str, str]:
        # Late: a process under test imports this module with its tests, and has no use for L1 here.
        from omnigraph_l1.failpoints import PLAN_VARIABLE, FailpointPlan  # noqa: PLC0415

        at_point = self.kill if isinstance(self.kill, AtPoint) else None
        plan = FailpointPlan(
            report=str(self.report),
            kill_at=at_point.point if at_point else None,
            hit=at_point.hit if at_point else 1,
        )
        own = {PLAN_VARIABLE: plan.to_text(), REPORT_VARIABLE: str(self.report)}
        return {**os.environ, **own}

    def passed(self) -> tuple[str, ...]:
        """Read which failpoints were passed so far."""
        return tuple(entry["point"] for entry in self._entries() if "point" in entry)

    def outcome(self, *, return_code: int, seconds: float, killed_at: str | None) -> Outcome:
        """Read what became of a process that is gone. ``return_code`` as subprocess has it."""
        value, error = self._read("value.pickle"), self._read("error.json")
        told = json.loads(error) if error is not None else {}
        ending = Ending.DIED
        if return_code == -signal.SIGKILL:
            ending = Ending.KILLED
        elif error is not None:
            ending = Ending.RAISED
        elif return_code == 0:
            ending = Ending.FINISHED
        declared = self._read("declared.json")
        return Outcome(
            what=self.payload.label,
            ending=ending,
            exit_status=return_code,
            value=pickle.loads(value) if value and ending is Ending.FINISHED else None,  # noqa: S301
            error_type=told.get("type"),
            traceback=told.get("traceback"),
            passed=self.passed(),
            marks=tuple(entry["mark"] for entry in self._entries() if "mark" in entry),
            declared=frozenset(json.loads(declared) if declared else ()),
            killed_at=killed_at if ending is Ending.KILLED else None,
            stdout=self.text("stdout"),
            stderr=self.text("stderr"),
            seconds=seconds,
        )

    def text(self, name: str) -> str:
        """Read an output of the process so far."""
        return (self._read(name) or b"").decode(errors="replace")

    def _entries(self) -> list[dict[str, Any]]:
        lines = (self._read("report") or b"").splitlines()
        return [json.loads(line) for line in lines]

    def _read(self, name: str) -> bytes | None:
        path = self.path / name
        return path.read_bytes() if path.exists() else None
