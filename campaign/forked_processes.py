"""Processes for tests that do not import our packages again: they are forked from one that has.

A process that imports Arrow and Lance needs a second of CPU time before it begins, and the tests
start hundreds. The server of multiprocessing forks them instead, and never uses Lance itself.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import attrs

from campaign.traced_crash import TracedCrash
from omnigraph_testing import Crash, Outcome
from omnigraph_testing._crash import crash_child
from omnigraph_testing._crash.crash_payload import Payload
from omnigraph_testing._crash.kill_points import Kill
from omnigraph_testing._crash.run_dir import RunDir

__all__ = ["ForkedCrash", "ForkedTracedCrash", "process_context"]

_ROOT = Path(__file__).parent.parent
_PRELOADED = "campaign.preloaded_packages"


class _Process(ForkServerProcess):
    """A process that has the environment of its parent, as a started one has, not the server's."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._environment = dict(os.environ)

    def run(self) -> None:
        os.environ.clear()
        os.environ.update(self._environment)
        super().run()


class _Context(ForkServerContext):
    Process = _Process


def process_context() -> ForkServerContext | SpawnContext:
    """Return the context of multiprocessing that starts processes; its server runs from then on."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    before = os.environ.get("PYTHONPATH")
    found = [str(_ROOT), *([before] if before else [])]
    os.environ["PYTHONPATH"] = os.pathsep.join(found)  # the server does not get our sys.path
    try:
        forkserver.set_forkserver_preload([_PRELOADED])
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    return _Context()


class ForkedCrash(Crash):
    """A ``Crash`` whose processes are forked. Each still is a process and a group of its own."""

    def _new_run(self, payload: Payload, kill: Kill | None = None) -> RunDir:
        return _ForkedRun(self._new_directory("run"), payload, kill)

    def _execute(self, run_dir: RunDir, deadline: float) -> Outcome:
        forked = _ForkedRun(run_dir.path, run_dir.payload, run_dir.kill)
        return super()._execute(forked, deadline)


class ForkedTracedCrash(ForkedCrash, TracedCrash):
    """The same for a ``TracedCrash``."""


class _ForkedRun(RunDir):
    """A run that is started by a fork."""

    def start(
        self,
        *,
        prelude: tuple[Path, dict[str, Any]] | None = None,
        pass_fds: tuple[int, ...] = (),
    ) -> tuple[subprocess.Popen[bytes], int]:
        context = process_context()
        started, report_start = context.Pipe(duplex=False)
        with started, report_start:
            self._write_plan(prelude, report_start.fileno())
            descriptors = {report_start.fileno(): report_start}
            descriptors |= {each: Connection(os.dup(each)) for each in pass_fds}
            settings = str(self.path), str(Path.cwd()), self._environment(), descriptors
            process = context.Process(target=_run, args=settings)
            process.start()
            for each in pass_fds:
                descriptors[each].close()
            return _Started(process), os.dup(started.fileno())  # type: ignore[return-value]


@attrs.define
class _Started:
    """As much of ``subprocess.Popen`` as a run needs."""

    _process: BaseProcess
    returncode: int | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def poll(self) -> int | None:
        self.returncode = self._process.exitcode
        return self.returncode

    def wait(self, timeout: float | None = None) -> None:
        if timeout is None:
            self._process.kill()  # its group was killed, but it may not have made one yet
        self._process.join(timeout)
        self.poll()


def _run(
    path: str, directory: str, environment: dict[str, str], descriptors: dict[int, Connection]
) -> None:
    """Become what ``crash_child`` expects to be, a fresh process, and carry out the plan."""
    os.setsid()
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        with Path(path, name).open("wb") as file:
            os.dup2(file.fileno(), descriptor)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    plan_file = Path(path, "plan.json")
    plan = json.loads(plan_file.read_text(encoding="utf-8"))
    plan["parent"] = os.getppid()
    plan["started"] = descriptors[plan["started"]].fileno()
    if plan["prelude"] is not None:
        plan["prelude"][1]["follow"] = descriptors[plan["prelude"][1]["follow"]].fileno()
    plan_file.write_text(json.dumps(plan), encoding="utf-8")
    sys.argv = ["crash_child.py", path]
    from omnigraph_l1 import failpoints  # noqa: PLC0415 - it reads the environment when imported

    failpoints._listen_if_asked()  # noqa: SLF001 - and was imported before the fork
    crash_child.main()
