"""A job killed once at each kind of its steps, each time on the same files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from omnigraph_testing import AtPoint, Crash

__all__ = ["each_step", "killed_at", "steps_of"]

_Job = Callable[..., Any]
_Prepare = Callable[[Path], Sequence[Any]]


def steps_of(crash: Crash, job: _Job, prepare: _Prepare) -> list[str]:
    """Return the kinds of steps of this layer that a job passes, in order."""
    trial = crash.directory / "trial"
    trial.mkdir(parents=True)
    passed = dict.fromkeys(crash.points(job, *prepare(trial)))
    return [point for point in passed if point.startswith("l2.")]


def killed_at(
    crash: Crash, job: _Job, prepare: _Prepare, points: Iterable[str | AtPoint]
) -> Iterator[tuple[str, Sequence[Any]]]:
    """Kill a job at each of these steps; yield the step, and what the job worked on.

    The files are prepared once, and are as they were before each kill. They stay at one path,
    because a branch records the path at which it was made.
    """
    location, kept = crash.directory / "killed", crash.directory / "kept"
    location.mkdir(parents=True)
    arguments = prepare(location)
    shutil.copytree(location, kept)
    for point in points:
        shutil.rmtree(location)
        shutil.copytree(kept, location)
        kill = AtPoint(point) if isinstance(point, str) else point
        assert crash.run(job, *arguments, kill=kill).killed, kill
        yield kill.point, arguments


def each_step(crash: Crash, job: _Job, prepare: _Prepare) -> Iterator[tuple[str, Sequence[Any]]]:
    """Kill a job once at each kind of step of this layer; yield the step, and its arguments."""
    yield from killed_at(crash, job, prepare, steps_of(crash, job, prepare))
