"""Carrying out what the rules decided on one call: the counterpart of the gateway's exchange.

Invariant: the record of a request is complete before its caller hears of its end. A caller
that is cut off, or waits longer than its time-out, gets an error at once; its request goes on in a
thread of its own, and has its effect when what it waits for is over.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from functools import partial
from typing import Any, Generic, TypeVar

import attrs

from omnigraph_testing._faults import fault_effects as effects
from omnigraph_testing._faults.answer_memory import Remembered
from omnigraph_testing._faults.fault_controls import Scene
from omnigraph_testing._faults.fault_engine import Decision
from omnigraph_testing._threads import in_background
from omnigraph_testing._wrappers.call_outcome import Outcome
from omnigraph_testing._wrappers.caller_waits import Pause, UntilReleased, Wait
from omnigraph_testing._wrappers.wrapped_call import Call

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
        raise call.unreachable_error()
    deadline = time.monotonic() + scene.timeout
    passage = _Passage(scene, call)
    steps = passage.steps()
    for wait in steps:
        if wait.cuts or not wait.is_over(deadline - time.monotonic()):
            passage.has_caller = False
            in_background(partial(_go_on, wait, steps))
            raise call.lost_reply_error()
    return passage.outcome.give()


def _go_on(wait: Wait, steps: Generator[Wait, None, None]) -> None:
    wait.is_over(None)
    for later in steps:
        later.is_over(None)


class _Passage(Generic[T]):
    """One call on its way."""

    def __init__(self, scene: WrapperScene, call: Call[T]) -> None:
        self.has_caller = True
        self.outcome: Outcome[T] = Outcome(error=call.lost_reply_error())
        self._scene = scene
        self._call = call
        self._decision = Decision()
        self._store_status: int | None = None
        self._record = scene.log.begin(call.operation, connection=0, now=time.monotonic())

    def steps(self) -> Generator[Wait, None, None]:
        """Yield what is to be waited for; then ``outcome`` is what the caller gets."""
        try:
            call = self._call
            self._decision = self._scene.faults.decide(call.operation, call.can_meet)
            self.outcome = yield from self._pass(self._decision.verdict)
        finally:
            self._end()

    def _pass(self, verdict: effects.Effect | None) -> Generator[Wait, None, Outcome[T]]:
        if not isinstance(verdict, effects.Refuse):
            yield from self._take_time_for(self._call.operation.size or 0)
            yield from self._wait("before", self._scene.latency)
        told = self._answer_without_store(verdict)
        if told is None:
            made = self._ask_store(verdict)
            self._store_status = made.status
            yield from self._wait("after", 0.0)
            told = self._answer_after_store(verdict, made)
        if told.value is not None:
            yield from self._take_time_for(self._call.size_of(told.value))
        return told

    def _answer_without_store(self, verdict: effects.Effect | None) -> Outcome[T] | None:
        call = self._call
        told: Outcome[T] | None = None
        if isinstance(verdict, effects.Refuse):
            told = Outcome(error=call.reset_error())
        elif isinstance(verdict, effects.CutRequest) or (
            isinstance(verdict, effects.TruncateRequest) and not verdict.silent
        ):
            told = Outcome(error=call.lost_reply_error())
        elif isinstance(verdict, effects.Answer) and not verdict.applied:
            told = call.answer_with(verdict.status, None)
        elif isinstance(verdict, effects.StaleListing):
            told = self._scene.answers.recall(call.question)
        if told is not None and verdict is not None:
            self._decision.mark_acted(verdict)
        return told

    def _ask_store(self, verdict: effects.Effect | None) -> Outcome[T]:
        ignored = self._decision.drop_conditions()
        keep = None
        if isinstance(verdict, effects.TruncateRequest):
            self._decision.mark_acted(verdict)
            if self._call.operation.size is None:  # what is torn is the question itself
                return self._call.answer_with(BAD_REQUEST, None)
            keep = verdict.keep
        made = self._call.make(conditions=not ignored, keep=keep)
        if isinstance(verdict, effects.Twice):
            again = self._call.make(conditions=not ignored)
            self._decision.mark_acted(verdict)
            return made if verdict.reply == "first" else again
        return made

    def _answer_after_store(self, verdict: effects.Effect | None, made: Outcome[T]) -> Outcome[T]:
        call = self._call
        told: Outcome[T] | None = None
        if isinstance(verdict, effects.CutReply):
            told = Outcome(error=call.lost_reply_error())
        elif isinstance(verdict, effects.Answer):
            told = call.answer_with(verdict.status, made)
        elif isinstance(verdict, effects.TruncateReply) and call.is_longer(made, verdict.keep):
            told = call.truncate_reply(made, verdict.keep, silent=verdict.silent)
        if told is not None and verdict is not None:
            self._decision.mark_acted(verdict)
            return told
        if call.question is not None and made.error is None:
            self._scene.answers.remember(call.question, made)
        return made

    def _wait(self, at: str, seconds: float) -> Generator[Wait, None, None]:
        seconds += self._decision.find_delay(at)
        if seconds:
            yield Pause(seconds)
        for effect in self._decision.find_holds(at):
            hold = UntilReleased(effect.held, self._call.operation, cuts=effect.cut)
            if hold.is_kept or hold.cuts:
                self._decision.mark_acted(effect)
            yield hold

    def _take_time_for(self, size: int) -> Generator[Wait, None, None]:
        seconds = self._decision.find_transfer_time(size)
        if seconds:
            yield Pause(seconds)

    def _end(self) -> None:
        value = self.outcome.value
        self._scene.log.end(
            attrs.evolve(
                self._record,
                status=self.outcome.status if self.has_caller else None,
                store_status=self._store_status,
                bytes_in=self._call.operation.size or 0,
                bytes_out=0 if value is None else self._call.size_of(value),
                faults=self._decision.close(),
                ended=time.monotonic(),
            )
        )
