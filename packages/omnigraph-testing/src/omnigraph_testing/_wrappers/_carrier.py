"""Carrying out what the rules decided on one call: the counterpart of the gateway's exchange.

What always holds: the record of a request is complete before its caller hears of its end. A caller
that is cut off, or waits longer than its time-out, is told so at once; its request goes on in a
thread of its own, and has its effect when what it waits for is over.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from functools import partial
from typing import Any, Generic, TypeVar

import attrs

from omnigraph_testing._faults import _effects as effects
from omnigraph_testing._faults._engine import Decision
from omnigraph_testing._faults._levers import Scene
from omnigraph_testing._faults._remembered import Remembered
from omnigraph_testing._wrappers._call import Call
from omnigraph_testing._wrappers._outcome import Outcome
from omnigraph_testing._wrappers._waits import Pause, UntilReleased, Wait, in_background

__all__ = ["WrapperScene", "carry_out"]

T = TypeVar("T")

BAD_REQUEST = 400


@attrs.define(eq=False, kw_only=True)
class WrapperScene(Scene):
    """What all calls through one wrapper share."""

    timeout: float
    is_down: bool = False
    answers: Remembered[Outcome[Any]] = attrs.field(factory=Remembered)


def carry_out(scene: WrapperScene, call: Call[T]) -> T:
    """Do what the caller asked, as the rules will have it."""
    if scene.is_down:
        raise call.unreached()
    deadline = time.monotonic() + scene.timeout
    passage = _Passage(scene, call)
    steps = passage.steps()
    for wait in steps:
        if wait.cuts or not wait.is_over(deadline - time.monotonic()):
            passage.has_caller = False
            in_background(partial(_go_on, wait, steps))
            raise call.lost()
    return passage.outcome.give()


def _go_on(wait: Wait, steps: Generator[Wait, None, None]) -> None:
    wait.is_over(None)
    for later in steps:
        later.is_over(None)


class _Passage(Generic[T]):
    """One call on its way."""

    def __init__(self, scene: WrapperScene, call: Call[T]) -> None:
        self.has_caller = True
        self.outcome: Outcome[T] = Outcome(error=call.lost())
        self._scene = scene
        self._call = call
        self._decision = Decision()
        self._store_status: int | None = None
        self._record = scene.log.begin(call.operation, connection=0, now=time.monotonic())

    def steps(self) -> Generator[Wait, None, None]:
        """Yield what is to be waited for; then ``outcome`` is what the caller is told."""
        try:
            self._decision = self._scene.faults.decide(self._call.operation)
            self.outcome = yield from self._pass(self._decision.verdict)
        finally:
            self._end()

    def _pass(self, verdict: effects.Effect | None) -> Generator[Wait, None, Outcome[T]]:
        if not isinstance(verdict, effects.Refuse):
            yield from self._take_time_for(self._call.operation.size or 0)
            yield from self._wait("before", self._scene.latency)
        told = self._told_unasked(verdict)
        if told is None:
            made = self._asked(verdict)
            if not (isinstance(verdict, effects.TruncateRequest) and not verdict.silent):
                self._store_status = made.status  # else nobody heard what the store said
            yield from self._wait("after", 0.0)
            told = self._told(verdict, made)
        if told.value is not None:
            yield from self._take_time_for(self._call.size_of(told.value))
        return told

    def _told_unasked(self, verdict: effects.Effect | None) -> Outcome[T] | None:
        call = self._call
        if isinstance(verdict, effects.Refuse):
            return Outcome(error=call.refused())
        if isinstance(verdict, effects.CutRequest) or self._is_torn(verdict, silent=False):
            return Outcome(error=call.lost())
        if isinstance(verdict, effects.Answer) and not verdict.applied:
            return call.answered(verdict.status, None)
        if isinstance(verdict, effects.StaleListing):
            return self._scene.answers.recall(call.question)
        if self._is_torn(verdict, silent=True) and call.operation.size is None:
            self._store_status = BAD_REQUEST  # what is torn is the question itself
            return call.answered(BAD_REQUEST, None)
        return None

    def _asked(self, verdict: effects.Effect | None) -> Outcome[T]:
        ignored = any(isinstance(e, effects.IgnoreConditions) for e in self._decision.modifiers)
        keep = verdict.keep if isinstance(verdict, effects.TruncateRequest) else None
        made = self._call.make(conditions=not ignored, keep=keep)
        if isinstance(verdict, effects.Twice):
            again = self._call.make(conditions=not ignored)
            return made if verdict.reply == "first" else again
        return made

    def _is_torn(self, verdict: effects.Effect | None, *, silent: bool) -> bool:
        return (
            isinstance(verdict, effects.TruncateRequest)
            and verdict.silent == silent
            and self._call.is_torn_by(verdict.keep)
        )

    def _told(self, verdict: effects.Effect | None, made: Outcome[T]) -> Outcome[T]:
        call = self._call
        if isinstance(verdict, effects.CutReply):
            return Outcome(error=call.lost())
        if isinstance(verdict, effects.TruncateRequest) and not verdict.silent:
            return Outcome(error=call.lost())
        if isinstance(verdict, effects.Answer):
            return call.answered(verdict.status, made)
        if isinstance(verdict, effects.TruncateReply):
            return call.shortened(made, verdict.keep, silent=verdict.silent)
        if call.question is not None and made.error is None:
            self._scene.answers.remember(call.question, made)
        return made

    def _wait(self, at: str, seconds: float) -> Generator[Wait, None, None]:
        for effect in self._decision.modifiers:
            if isinstance(effect, effects.Delay) and effect.at == at:
                seconds += effect.seconds
        if seconds:
            yield Pause(seconds)
        for effect in self._decision.modifiers:
            if isinstance(effect, effects.Hold) and effect.at == at:
                yield UntilReleased(effect.held, self._call.operation, cuts=effect.cut)

    def _take_time_for(self, size: int) -> Generator[Wait, None, None]:
        found = [each for each in self._decision.modifiers if isinstance(each, effects.Bandwidth)]
        if found and size:
            yield Pause(size / min(each.bytes_per_second for each in found))

    def _end(self) -> None:
        value = self.outcome.value
        self._scene.log.end(
            attrs.evolve(
                self._record,
                status=self.outcome.status if self.has_caller else None,
                store_status=self._store_status,
                bytes_in=self._call.operation.size or 0,
                bytes_out=0 if value is None else self._call.size_of(value),
                faults=self._decision.faults,
                ended=time.monotonic(),
            )
        )
