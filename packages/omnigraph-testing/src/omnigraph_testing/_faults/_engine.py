"""The rules in force, and how often each has matched and fired: operations in, decisions out.

Safe between threads. The decision depends on nothing but the rules and on what came before.
"""

from __future__ import annotations

import threading
from collections import Counter

import attrs

from omnigraph_testing._faults._effects import Effect, Hold
from omnigraph_testing._faults._operation import Operation
from omnigraph_testing._faults._rule import Rule

__all__ = ["Decision", "Faults", "Injected"]


@attrs.frozen
class Decision:
    """What happens to one operation: any number of modifiers, and at most one verdict."""

    modifiers: tuple[Effect, ...] = ()
    verdict: Effect | None = None

    def __bool__(self) -> bool:
        return bool(self.modifiers) or self.verdict is not None

    @property
    def faults(self) -> tuple[str, ...]:
        """The names of the effects."""
        effects = self.modifiers if self.verdict is None else (*self.modifiers, self.verdict)
        return tuple(type(effect).__name__ for effect in effects)


PASS = Decision()


class Injected:
    """A rule in force: how often it has matched and fired, and the way to take it out."""

    def __init__(self, rule: Rule, faults: Faults) -> None:
        self.rule = rule
        self._faults = faults
        self._seen: Counter[str] = Counter()
        self._fired = 0

    @property
    def matched(self) -> int:
        """How many operations the rule was about."""
        return self._seen.total()

    @property
    def fired(self) -> int:
        """How often its effect was decided on."""
        return self._fired

    def remove(self) -> None:
        """Take the rule out of force; what it holds goes on."""
        self._faults.remove(self)

    def _decide(self, operation: Operation, *, verdict_is_free: bool) -> bool:
        if not self.rule.matches(operation):
            return False
        counted_as = operation.key if self.rule.per_key else ""
        self._seen[counted_as] += 1
        if self.rule.times is not None and self._fired >= self.rule.times:
            return False
        if self.rule.effect.is_verdict and not verdict_is_free:
            return False
        if not self.rule.fires_at(self._seen[counted_as], operation.key):
            return False
        self._fired += 1
        return True


class Faults:
    """An ordered set of rules. The verdict of the first that fires counts; modifiers add up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._injected: list[Injected] = []

    def inject(self, rule: Rule) -> Injected:
        """Put a rule in force, behind those that are."""
        injected = Injected(rule, self)
        with self._lock:
            self._injected.append(injected)
        return injected

    def remove(self, injected: Injected) -> None:
        """Take one rule out of force. Twice does no harm."""
        with self._lock:
            if injected in self._injected:
                self._injected.remove(injected)
        _let_go(injected)

    def clear(self) -> None:
        """Take all rules out of force, and release what they hold."""
        with self._lock:
            cleared, self._injected = self._injected, []
        for injected in cleared:
            _let_go(injected)

    def decide(self, operation: Operation) -> Decision:
        """Count the operation, and say what happens to it."""
        if not self._injected:
            return PASS
        modifiers: list[Effect] = []
        verdict: Effect | None = None
        with self._lock:
            for injected in self._injected:
                if injected._decide(operation, verdict_is_free=verdict is None):  # noqa: SLF001
                    effect = injected.rule.effect
                    if effect.is_verdict:
                        verdict = effect
                    else:
                        modifiers.append(effect)
        return Decision(tuple(modifiers), verdict)


def _let_go(injected: Injected) -> None:
    if isinstance(injected.rule.effect, Hold):
        injected.rule.effect.held.release()
