"""The directory that a process under test and its parent share: plan, report, output, result.

Invariant: one directory for one run. Nothing in it lies below a root that is recorded.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs

from omnigraph_testing._crash.crash_payload import Payload
from omnigraph_testing._crash.kill_points import AtPoint, Kill
from omnigraph_testing._crash.process_outcome import Ending, Outcome
from omnigraph_testing._crash.progress_mark import REPORT_VARIABLE
from omnigraph_testing.errors import MissingExtra

__all__ = ["RunDir", "require_failpoints"]

_CHILD = Path(__file__).with_name("crash_child.py")


def has_failpoints() -> bool:
    """Return whether omnigraph_l1, which defines failpoints, is installed."""
    return importlib.util.find_spec("omnigraph_l1") is not None


def require_failpoints(feature: str) -> None:
    """Raise ``MissingExtra`` where there are no failpoints."""
    if not has_failpoints():
        raise MissingExtra(feature=feature, module="omnigraph_l1", extra="graph")


@attrs.define
class RunDir:
    """One run's directory, from the plan to the outcome."""

    path: Path
    payload: Payload
    kill: Kill | None

    @property
    def report(self) -> Path:
        """Where the process appends failpoints and marks."""
        return self.path / "report"

    def start(
        self,
        *,
        prelude: tuple[Path, dict[str, Any]] | None = None,
        pass_fds: tuple[int, ...] = (),
    ) -> tuple[subprocess.Popen[bytes], int]:
        """Start the process.

        Return it with the end of a pipe that becomes readable when the function begins. A
        ``prelude`` is a script with its globals that the process runs before anything else.
        """
        started, report_start = os.pipe()
        try:
            self._write_plan(prelude, report_start)
            with (self.path / "stdout").open("wb") as out, (self.path / "stderr").open("wb") as err:
                process = subprocess.Popen(  # noqa: S603 - our own interpreter
                    [sys.executable, str(_CHILD), str(self.path)],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    env=self._environment(),
                    pass_fds=(report_start, *pass_fds),
                    start_new_session=True,
                )
        finally:
            os.close(report_start)
        return process, started

    def _write_plan(self, prelude: tuple[Path, dict[str, Any]] | None, started: int) -> None:
        self.report.write_bytes(b"")
        (self.path / "call.pickle").write_bytes(self.payload.call)
        plan = {
            "parent": os.getpid(),
            "prelude": None if prelude is None else [str(prelude[0]), prelude[1]],
            "started": started,
            "sys_path": sys.path,
            "modules": self.payload.modules,
            "main": self.payload.main,
            "script": self.payload.script,
            "script_arguments": self.payload.script_arguments,
        }
        (self.path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")

    def _environment(self) -> dict[str, str]:
        own = {REPORT_VARIABLE: str(self.report)}
        at_point = self.kill if isinstance(self.kill, AtPoint) else None
        if at_point is not None or has_failpoints():
            require_failpoints("AtPoint")
            # Here: a process under test imports this module, and does not need omnigraph_l1.
            from omnigraph_l1.failpoints import PLAN_VARIABLE, FailpointPlan  # noqa: PLC0415

            plan = FailpointPlan(
                report=str(self.report),
                kill_at=at_point.point if at_point else None,
                hit=at_point.hit if at_point else 1,
            )
            own[PLAN_VARIABLE] = plan.to_text()
        return {**os.environ, **own}

    def read_passed_points(self) -> tuple[str, ...]:
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
            passed=self.read_passed_points(),
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
