"""A job killed once at each kind of its steps, each time in a place of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from omnigraph_testing import AtPoint, Crash

__all__ = ["each_step", "killed_at", "steps_of"]

_Job = Callable[..., Any]
_Prepare = Callable[[Path], Sequence[Any]]


def steps_of(crash: Crash, job: _Job, prepare: _Prepare) -> list[str]:
    """Name the kinds of steps of this layer that a job passes, in order."""
    trial = crash.directory / "trial"
    trial.mkdir(parents=True)
    passed = dict.fromkeys(crash.points(job, *prepare(trial)))
    return [point for point in passed if point.startswith("l2.")]


def killed_at(
    crash: Crash, job: _Job, prepare: _Prepare, points: Iterable[str]
) -> Iterator[tuple[str, Sequence[Any]]]:
    """Kill a job at each of these steps; give where, and what it worked on."""
    for number, point in enumerate(points):
        place = crash.directory / f"step-{number}"
        place.mkdir(parents=True)
        arguments = prepare(place)
        assert crash.run(job, *arguments, kill=AtPoint(point)).killed, point
        yield point, arguments


def each_step(crash: Crash, job: _Job, prepare: _Prepare) -> Iterator[tuple[str, Sequence[Any]]]:
    """Kill a job once at each kind of step of this layer; give where, and what it worked on."""
    yield from killed_at(crash, job, prepare, steps_of(crash, job, prepare))
