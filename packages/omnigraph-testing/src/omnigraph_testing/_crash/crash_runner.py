"""``Crash``: run code in a real process, kill it at a point, and look at what it left.

Invariant: when a method returns or raises, no process is left behind. A certain point that was
never reached is an error.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from omnigraph_testing._crash.crash_payload import Payload, pack_function, pack_script
from omnigraph_testing._crash.kill_points import (
    AtPoint,
    AtRequest,
    InjectsFaults,
    Kill,
)
from omnigraph_testing._crash.plain_run import run_plain
from omnigraph_testing._crash.process_outcome import LeftFile, Outcome, tree
from omnigraph_testing._crash.run_dir import RunDir, require_failpoints
from omnigraph_testing.errors import (
    InvalidOption,
    NeverKilled,
    UnexpectedEnding,
)

__all__ = ["DEADLINE", "Crash", "Crashed", "require_finished"]

DEADLINE = 60.0


@attrs.frozen(kw_only=True)
class Crashed:
    """One of the runs of ``everywhere``: where it was killed, how it ended, what it worked on."""

    kill: Kill
    outcome: Outcome
    directory: Path
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.outcome.what} killed {self.outcome.killed_at or 'nowhere'}"


@attrs.define
class Crash:
    """Runs functions and scripts in processes of their own, and kills them where it is asked to.

    ``directory`` holds what the runs leave for this object.
    """

    directory: Path = attrs.field(converter=Path)
    _runs: Iterator[int] = attrs.field(factory=itertools.count, init=False, repr=False)

    def run(
        self,
        function: Callable[..., Any],
        /,
        *args: Any,
        kill: Kill | None = None,
        deadline: float = DEADLINE,
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
        deadline: float = DEADLINE,
        must_be_killed: bool | None = None,
    ) -> Outcome:
        """Run a Python script in a process of its own, and kill that where ``kill`` says."""
        return self._run(pack_script(script, arguments), kill, deadline, must=must_be_killed)

    def points(
        self,
        function: Callable[..., Any],
        /,
        *args: Any,
        deadline: float = DEADLINE,
        **kwargs: Any,
    ) -> tuple[str, ...]:
        """List the failpoints that an undisturbed run passes, each as often as it does."""
        require_failpoints("Crash.points")
        payload = pack_function(function, args, kwargs)
        return require_finished(self._run(payload, None, deadline, must=None)).passed

    def everywhere(
        self,
        function: Callable[..., Any],
        /,
        *,
        prepare: Callable[[Path], Sequence[Any]] | None = None,
        by: str = "points",
        store: InjectsFaults | None = None,
        limit: int | None = None,
        seed: int = 0,
        deadline: float = DEADLINE,
    ) -> Iterator[Crashed]:
        """Kill a function once at each point that an undisturbed run of it passes.

        ``by`` is "points" (failpoints) or "requests" (of ``store``). Each run gets a new directory;
        ``prepare`` fills it and returns the arguments (default: the directory itself). ``limit``
        takes a seeded sample of the points. The requests of a function that starts threads vary:
        such a run may also finish.
        """
        ready = prepare if prepare is not None else _directory_itself
        kills = self._find_points(function, ready, by, store, deadline)
        if limit is not None and len(kills) > limit:
            rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
            kills = [kills[index] for index in sorted(rng.sample(range(len(kills)), limit))]
        for kill in kills:
            directory = self._new_directory("start")
            arguments = tuple(ready(directory))
            here = self._move_kill(kill, directory)
            outcome = self.run(
                function,
                *arguments,
                kill=here,
                deadline=deadline,
                must_be_killed=isinstance(kill, AtPoint),
            )
            yield Crashed(kill=here, outcome=outcome, directory=directory, arguments=arguments)

    def tree(self, root: str | os.PathLike[str]) -> tuple[LeftFile, ...]:
        """List all that is below a directory, sorted by path."""
        return tree(root)

    def _find_points(
        self,
        function: Callable[..., Any],
        ready: Callable[[Path], Sequence[Any]],
        by: str,
        store: InjectsFaults | None,
        deadline: float,
    ) -> list[Kill]:
        directory = self._new_directory("start")
        payload = pack_function(function, ready(directory), {})
        if by == "points":
            require_failpoints('everywhere(by="points")')
            hits: dict[str, int] = {}
            kills: list[Kill] = []
            for point in require_finished(self._run(payload, None, deadline, must=None)).passed:
                hits[point] = hits.get(point, 0) + 1
                kills.append(AtPoint(point, hit=hits[point]))
            return kills
        if by == "requests" and store is not None:
            return self._find_requests(payload, store, deadline)
        expected = "points, or requests together with a store"
        raise InvalidOption(option="by", found=repr(by), expected=expected)

    def _find_requests(self, payload: Payload, store: InjectsFaults, deadline: float) -> list[Kill]:
        from omnigraph_testing._faults.fault_effects import Delay  # noqa: PLC0415
        from omnigraph_testing._faults.fault_rule import Rule  # noqa: PLC0415

        counter = store.inject(Rule(Delay(0)))
        try:
            require_finished(self._run(payload, None, deadline, must=None))
            count = counter.matched
        finally:
            counter.remove()
        sides = ("before", "after")
        return [AtRequest(store, n, at=side) for n in range(1, count + 1) for side in sides]

    def _run(
        self, payload: Payload, kill: Kill | None, deadline: float, *, must: bool | None
    ) -> Outcome:
        outcome = self._execute(RunDir(self._new_directory("run"), payload, kill), deadline)
        wanted = kill is not None and (kill.certain if must is None else must)
        if kill is not None and wanted and not outcome.killed:
            raise _never_killed(kill, outcome)
        return outcome

    def _execute(self, run_dir: RunDir, deadline: float) -> Outcome:
        return run_plain(run_dir, deadline=deadline)

    def _move_kill(self, kill: Kill, directory: Path) -> Kill:  # noqa: ARG002 - for a subclass
        return kill

    def _new_directory(self, what: str) -> Path:
        directory = self.directory / f"{what}-{next(self._runs)}"
        directory.mkdir(parents=True)
        return directory


def _directory_itself(directory: Path) -> Sequence[Any]:
    return (directory,)


def require_finished(outcome: Outcome) -> Outcome:
    """Return the outcome, or raise ``UnexpectedEnding`` if the process did not finish."""
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
    return NeverKilled(what=outcome.what, point=str(kill), passed=outcome.passed, detail=detail)
