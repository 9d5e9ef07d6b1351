"""The ``crash`` fixture: run code in a real process, kill it somewhere, look at what it left.

A facade: starting, waiting and killing are done below. Always: when a method returns or raises, no
process is left behind; a place to kill at that was never reached is an error, unless it was a
random moment.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs

from omnigraph_testing._crash._home import Home
from omnigraph_testing._crash._kills import (
    AtFileOperation,
    AtPoint,
    AtRequest,
    InjectsFaults,
    Kill,
)
from omnigraph_testing._crash._outcome import LeftFile, Outcome, tree
from omnigraph_testing._crash._payload import Payload, pack_function, pack_script
from omnigraph_testing._crash._run import run_plain
from omnigraph_testing._disk._trace import Trace
from omnigraph_testing.errors import (
    InvalidOption,
    NeverKilled,
    TracingUnavailable,
    UnexpectedEnding,
)

__all__ = ["Crash", "Crashed"]

_DEADLINE = 60.0


@attrs.frozen(kw_only=True)
class Crashed:
    """One of the runs of ``everywhere``: where it was killed, how it ended, what it worked on."""

    kill: Kill
    outcome: Outcome
    place: Path
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.outcome.what} killed {self.outcome.killed_at or 'nowhere'}"


@attrs.define
class Crash:
    """Runs functions and scripts in processes of their own, and kills them where it is asked to.

    ``directory`` holds what the runs leave for this object. ``unavailable`` is called, instead of
    raising, where file operations cannot be followed: the fixture skips the test there.
    """

    directory: Path = attrs.field(converter=Path)
    unavailable: Callable[[TracingUnavailable], None] | None = attrs.field(
        default=None, kw_only=True
    )
    _runs: Iterator[int] = attrs.field(factory=itertools.count, init=False, repr=False)

    def run(
        self,
        function: Callable[..., Any],
        /,
        *args: Any,
        kill: Kill | None = None,
        deadline: float = _DEADLINE,
        must_be_killed: bool | None = None,
        **kwargs: Any,
    ) -> Outcome:
        """Call a function in a process of its own, and kill that where ``kill`` says.

        ``must_be_killed=False`` accepts a run that ended before it came there.
        """
        payload = pack_function(function, args, kwargs)
        return self._run(payload, kill, deadline, must=must_be_killed)

    def run_script(
        self,
        script: str | os.PathLike[str],
        *arguments: str,
        kill: Kill | None = None,
        deadline: float = _DEADLINE,
        must_be_killed: bool | None = None,
    ) -> Outcome:
        """Run a Python script in a process of its own, and kill that where ``kill`` says."""
        return self._run(pack_script(script, arguments), kill, deadline, must=must_be_killed)

    def points(
        self,
        function: Callable[..., Any],
        /,
        *args: Any,
        deadline: float = _DEADLINE,
        **kwargs: Any,
    ) -> tuple[str, ...]:
        """List the failpoints that an undisturbed run passes, each as often as it does."""
        payload = pack_function(function, args, kwargs)
        return _finished(self._run(payload, None, deadline, must=None)).passed

    def record(
        self,
        function: Callable[..., Any],
        /,
        *args: Any,
        root: str | os.PathLike[str],
        deadline: float = _DEADLINE,
        **kwargs: Any,
    ) -> Trace:
        """Run a function undisturbed and record what it does to the files below ``root``."""
        payload = pack_function(function, args, kwargs)
        self._require_tracing()
        outcome, trace = self._traced(payload, root, deadline)
        _finished(outcome)
        return trace

    def everywhere(
        self,
        function: Callable[..., Any],
        /,
        *,
        prepare: Callable[[Path], Sequence[Any]] | None = None,
        by: Literal["points", "file operations", "requests"] = "points",
        store: InjectsFaults | None = None,
        limit: int | None = None,
        seed: int = 0,
        deadline: float = _DEADLINE,
    ) -> Iterator[Crashed]:
        """Kill a function once at each place that an undisturbed run of it passes.

        Each run gets a fresh directory; ``prepare`` fills it and gives the arguments (by default
        the directory itself). With ``limit``, a seeded sample of the places. Requests and file
        operations of a function with threads of its own vary: such a run may also finish.
        """
        ready = prepare if prepare is not None else _directory_itself
        kills = self._places(function, ready, by, store, deadline)
        if limit is not None and len(kills) > limit:
            rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
            kills = [kills[index] for index in sorted(rng.sample(range(len(kills)), limit))]
        for kill in kills:
            place = self._fresh("place")
            arguments = tuple(ready(place))
            here = attrs.evolve(kill, root=place) if isinstance(kill, AtFileOperation) else kill
            outcome = self.run(
                function,
                *arguments,
                kill=here,
                deadline=deadline,
                must_be_killed=isinstance(kill, AtPoint),
            )
            yield Crashed(kill=here, outcome=outcome, place=place, arguments=arguments)

    def tree(self, root: str | os.PathLike[str]) -> tuple[LeftFile, ...]:
        """List all that is below a directory, sorted by path."""
        return tree(root)

    def _places(
        self,
        function: Callable[..., Any],
        ready: Callable[[Path], Sequence[Any]],
        by: str,
        store: InjectsFaults | None,
        deadline: float,
    ) -> list[Kill]:
        place = self._fresh("place")
        payload = pack_function(function, ready(place), {})
        if by == "points":
            hits: dict[str, int] = {}
            kills: list[Kill] = []
            for point in _finished(self._run(payload, None, deadline, must=None)).passed:
                hits[point] = hits.get(point, 0) + 1
                kills.append(AtPoint(point, hit=hits[point]))
            return kills
        if by == "file operations":
            self._require_tracing()
            outcome, trace = self._traced(payload, place, deadline)
            _finished(outcome)
            numbers = range(1, len(trace.file_operations) + 1)
            return [AtFileOperation(number, root=place) for number in numbers]
        if by == "requests" and store is not None:
            return self._requests(payload, store, deadline)
        expected = "points, file operations, or requests together with a store"
        raise InvalidOption(option="by", found=repr(by), expected=expected)

    def _requests(self, payload: Payload, store: InjectsFaults, deadline: float) -> list[Kill]:
        from omnigraph_testing._faults._effects import Delay  # noqa: PLC0415
        from omnigraph_testing._faults._rule import Rule  # noqa: PLC0415

        counter = store.inject(Rule(Delay(0)))
        try:
            _finished(self._run(payload, None, deadline, must=None))
            count = counter.matched
        finally:
            counter.remove()
        sides = ("before", "after")
        return [AtRequest(store, n, at=side) for n in range(1, count + 1) for side in sides]

    def _run(
        self, payload: Payload, kill: Kill | None, deadline: float, *, must: bool | None
    ) -> Outcome:
        if isinstance(kill, AtFileOperation):
            self._require_tracing()
            from omnigraph_testing._crash._traced import run_traced  # noqa: PLC0415 - Linux only

            home = Home(self._fresh("run"), payload, kill)
            outcome = run_traced(home, root=kill.root, deadline=deadline)
        else:
            outcome = run_plain(Home(self._fresh("run"), payload, kill), deadline=deadline)
        wanted = kill is not None and (kill.certain if must is None else must)
        if kill is not None and wanted and not outcome.killed:
            raise _never_killed(kill, outcome)
        return outcome

    def _traced(
        self, payload: Payload, root: str | os.PathLike[str], deadline: float
    ) -> tuple[Outcome, Trace]:
        from omnigraph_testing._crash._traced import record  # noqa: PLC0415 - Linux only

        home = Home(self._fresh("run"), payload, None)
        return record(home, root=root, deadline=deadline, snapshot=home.path / "before")

    def _require_tracing(self) -> None:
        from omnigraph_testing._crash._available import require_tracing  # noqa: PLC0415

        try:
            require_tracing()
        except TracingUnavailable as problem:
            if self.unavailable is not None:
                self.unavailable(problem)
            raise

    def _fresh(self, what: str) -> Path:
        place = self.directory / f"{what}-{next(self._runs)}"
        place.mkdir(parents=True)
        return place


def _directory_itself(place: Path) -> Sequence[Any]:
    return (place,)


def _finished(outcome: Outcome) -> Outcome:
    if not outcome.finished:
        raise UnexpectedEnding(
            what=outcome.what, ending=outcome.ending.value, detail=outcome.detail
        )
    return outcome


def _never_killed(kill: Kill, outcome: Outcome) -> NeverKilled:
    detail = f"it {outcome.ending.value}"
    if not outcome.finished:
        detail += f":\n{outcome.detail}"
    if isinstance(kill, AtPoint) and kill.point not in outcome.declared:
        known = ", ".join(sorted(outcome.declared)) or "none"
        detail += f"; no module that it loaded declares such a point (declared: {known})"
    return NeverKilled(what=outcome.what, place=str(kill), passed=outcome.passed, detail=detail)
