"""Run a process that is not traced: wait for its end, or for the moment to kill it.

Invariant: the process and all of its group are gone when ``run_plain`` returns or raises.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import attrs

from omnigraph_testing._crash.kill_points import AtMoment, AtRequest, Kill
from omnigraph_testing._crash.process_outcome import Outcome
from omnigraph_testing._crash.run_dir import RunDir
from omnigraph_testing.errors import CrashDeadline

__all__ = ["kill_group", "run_plain"]

_TICK = 0.005


def run_plain(run_dir: RunDir, *, deadline: float) -> Outcome:
    """Run to the end, to the kill, or to the deadline."""
    begin = time.monotonic()
    with _watch(run_dir.kill) as watch:
        process, started = run_dir.start()
        try:
            while process.poll() is None:
                if watch.due(started):
                    kill_group(process.pid)
                    process.wait()
                elif time.monotonic() - begin > deadline:
                    raise CrashDeadline(
                        what=run_dir.payload.label,
                        seconds=deadline,
                        passed=run_dir.read_passed_points(),
                        stderr=run_dir.text("stderr"),
                    )
                else:
                    _wait(process, _TICK)
        finally:
            kill_group(process.pid)
            process.wait()
            os.close(started)
    return run_dir.outcome(
        return_code=process.returncode,
        seconds=time.monotonic() - begin,
        killed_at=None if run_dir.kill is None else str(run_dir.kill),
    )


def kill_group(pid: int) -> None:
    """Kill a process that leads a session of its own, and what it has started in it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


@attrs.define
class _Watch:
    """Says when the time to kill has come. This one never does."""

    def due(self, started: int) -> bool:  # noqa: ARG002
        return False


@attrs.define
class _Clock(_Watch):
    delay: float
    _since: float | None = None

    def due(self, started: int) -> bool:
        if self._since is None and select.select([started], [], [], 0)[0]:
            self._since = time.monotonic()
        return self._since is not None and time.monotonic() - self._since >= self.delay


@attrs.define
class _Gate(_Watch):
    held: Any

    def due(self, started: int) -> bool:  # noqa: ARG002
        return bool(self.held.operations)


@contextlib.contextmanager
def _watch(kill: Kill | None) -> Iterator[_Watch]:
    if isinstance(kill, AtMoment):
        yield _Clock(kill.delay)
    elif isinstance(kill, AtRequest):
        with _held_request(kill) as gate:
            yield gate
    else:
        yield _Watch()


@contextlib.contextmanager
def _held_request(kill: AtRequest) -> Iterator[_Gate]:
    """Hold the n-th request at the gateway; its client is killed while it waits.

    Held before its effect, the request is thrown away: the store never sees it.
    """
    from omnigraph_testing._faults.fault_effects import CutRequest, Effect, Hold  # noqa: PLC0415
    from omnigraph_testing._faults.fault_rule import Rule  # noqa: PLC0415
    from omnigraph_testing._faults.held_requests import Held  # noqa: PLC0415

    held = Held()
    effects: list[Effect] = [Hold(held, at=kill.at)]
    if kill.at == "before":
        effects.append(CutRequest())
    rules = [Rule(effect, kill.method, key=kill.key, nth=kill.n) for effect in effects]
    injected = [kill.store.inject(rule) for rule in rules]
    try:
        yield _Gate(held)
    finally:
        held.release()
        for each in injected:
            each.remove()
