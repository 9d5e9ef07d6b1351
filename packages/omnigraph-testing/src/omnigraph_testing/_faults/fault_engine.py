"""The rules in force, and how often each has matched and fired: operations in, decisions out.

Invariant: safe between threads. The decision depends on nothing but the rules and on what came
before, and an effect counts as fired only once it has acted. Predicates are called while nothing is
locked, so that one may ask the store that it is about.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

import attrs

from omnigraph_testing._faults.fault_effects import (
    Bandwidth,
    Delay,
    Effect,
    Hold,
    IgnoreConditions,
    can_act_on,
)
from omnigraph_testing._faults.fault_rule import Rule
from omnigraph_testing._faults.rule_predicates import Predicates
from omnigraph_testing._faults.store_operation import Operation

__all__ = ["Decision", "Faults", "Injected"]

CanAct = Callable[[Effect, Operation], bool]


@attrs.define(eq=False)
class _Shot:
    """One use of a rule on one operation. It counts towards ``times`` once the effect has acted."""

    injected: Injected
    has_acted: bool = False
    is_settled: bool = False

    def settle(self, *, has_acted: bool) -> None:
        """Report to the rule what became of it; the first report counts."""
        if not self.is_settled:
            self.is_settled, self.has_acted = True, has_acted
            self.injected.settle(has_acted=has_acted)


@attrs.frozen(eq=False)
class Decision:
    """What is to happen to one operation: any number of modifiers, and at most one verdict.

    The code that carries it out calls ``mark_acted`` for each effect and ``close`` at the end.
    """

    _shots: tuple[_Shot, ...] = ()

    def __bool__(self) -> bool:
        return bool(self._shots)

    @property
    def modifiers(self) -> tuple[Effect, ...]:
        """The effects that change how the operation passes."""
        return tuple(each for each in self._effects if not each.is_verdict)

    @property
    def verdict(self) -> Effect | None:
        """The effect that decides what becomes of it."""
        return next((each for each in self._effects if each.is_verdict), None)

    def mark_acted(self, effect: Effect) -> None:
        """Count the effect for its rule. Twice is once."""
        for shot in self._shots:
            if shot.injected.rule.effect is effect:
                shot.settle(has_acted=True)

    def find_delay(self, at: str) -> float:
        """Return the seconds of all delays ``before`` or ``after`` the effect; they have acted."""
        seconds = 0.0
        for effect in self.modifiers:
            if isinstance(effect, Delay) and effect.at == at:
                self.mark_acted(effect)
                seconds += effect.seconds
        return seconds

    def find_holds(self, at: str) -> list[Hold]:
        """Return the holds ``before`` or ``after`` the effect."""
        return [each for each in self.modifiers if isinstance(each, Hold) and each.at == at]

    def find_transfer_time(self, size: int) -> float:
        """Return the seconds that a body takes; the narrowest bandwidth has acted."""
        found = [each for each in self.modifiers if isinstance(each, Bandwidth)]
        if not found or not size:
            return 0.0
        narrowest = min(found, key=lambda each: each.bytes_per_second)
        self.mark_acted(narrowest)
        return size / narrowest.bytes_per_second

    def drop_conditions(self) -> bool:
        """Return whether the request is made without its conditions; the effects have acted."""
        found = [each for each in self.modifiers if isinstance(each, IgnoreConditions)]
        for effect in found:
            self.mark_acted(effect)
        return bool(found)

    def close(self) -> tuple[str, ...]:
        """Return the names of the effects that have acted, modifiers first; end the decision."""
        for shot in self._shots:
            shot.settle(has_acted=False)
        done = [shot.injected.rule.effect for shot in self._shots if shot.has_acted]
        done.sort(key=lambda effect: effect.is_verdict)
        return tuple(type(effect).__name__ for effect in done)

    @property
    def _effects(self) -> list[Effect]:
        return [shot.injected.rule.effect for shot in self._shots]


PASS = Decision()


class Injected:
    """A rule in force: how often it has matched and fired, and the way to take it out."""

    def __init__(self, rule: Rule, faults: Faults, position: int) -> None:
        self.rule = rule
        self._faults = faults
        self._position = position
        self._lock = threading.Lock()
        self._seen: Counter[str] = Counter()
        self._fired = 0
        self._under_way = 0

    @property
    def matched(self) -> int:
        """How many operations the rule was about."""
        return self._seen.total()

    @property
    def fired(self) -> int:
        """How often its effect has acted."""
        return self._fired

    def remove(self) -> None:
        """Take the rule out of force; what it holds goes on."""
        self._faults.remove(self)

    def settle(self, *, has_acted: bool) -> None:
        """Take note of what became of one time that the rule picked an operation."""
        with self._lock:
            self._under_way -= 1
            self._fired += has_acted

    def picks(self, operation: Operation, *, is_free: bool) -> bool:
        """Count an operation that matches, and return whether the effect is to meet it."""
        counted_as = operation.key if self.rule.per_key else ""
        with self._lock:
            self._seen[counted_as] += 1
            if self.rule.times is not None and self._fired + self._under_way >= self.rule.times:
                return False
            number = self._seen[counted_as]
            if not is_free or not self.rule.fires_at(number, operation.key, self._position):
                return False
            self._under_way += 1
            return True


class Faults:
    """An ordered set of rules. The verdict of the first that fires counts; modifiers add up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._injected: list[Injected] = []
        self._position = 0
        self._predicates = Predicates()

    @property
    def ask_the_test(self) -> bool:
        """Whether deciding calls code of the test's, which may take its time."""
        return any(each.rule.predicate is not None for each in self._injected)

    def inject(self, rule: Rule) -> Injected:
        """Put a rule in force, behind those that are."""
        with self._lock:
            injected = Injected(rule, self, self._position)
            self._position += 1
            self._injected = [*self._injected, injected]
        return injected

    def remove(self, injected: Injected) -> None:
        """Take one rule out of force. Twice does no harm."""
        with self._lock:
            self._injected = [each for each in self._injected if each is not injected]
        _let_go(injected)

    def clear(self) -> None:
        """Take all rules out of force, and release what they hold. Positions start again at 0."""
        with self._lock:
            cleared, self._injected = self._injected, []
            self._position = 0
        for injected in cleared:
            _let_go(injected)

    def decide(self, operation: Operation, can_act: CanAct = can_act_on) -> Decision:
        """Count the operation, and say what is to happen to it.

        An effect that ``can_act`` rules out stands aside, as if its rule had not been asked. Raises
        ``EndlessPredicate``, and what a predicate raises.
        """
        injected = self._injected
        if not injected:
            return PASS
        matching = [each for each in injected if self._predicates.matches(each.rule, operation)]
        shots: list[_Shot] = []
        has_verdict = False
        with self._lock:
            for each in matching:
                if each not in self._injected:  # taken out of force by its predicate, or meanwhile
                    continue
                effect = each.rule.effect
                is_free = not (effect.is_verdict and has_verdict) and can_act(effect, operation)
                if each.picks(operation, is_free=is_free):
                    shots.append(_Shot(each))
                    has_verdict = has_verdict or effect.is_verdict
        return Decision(tuple(shots)) if shots else PASS


def _let_go(injected: Injected) -> None:
    if isinstance(injected.rule.effect, Hold):
        injected.rule.effect.held.release()
