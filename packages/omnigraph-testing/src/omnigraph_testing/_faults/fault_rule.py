"""A rule: which operations, which of their occurrences, and what happens to them.

A pure value. ``matches`` looks at one operation, ``fires_at`` at the number of a match; both give
the same answer every time. Counting the matches is the business of ``fault_engine.py``.
"""

from __future__ import annotations

import fnmatch
import random
from collections.abc import Callable, Iterable

import attrs

from omnigraph_testing._faults import field_validators as checks
from omnigraph_testing._faults.fault_effects import Effect
from omnigraph_testing._faults.store_operation import Operation
from omnigraph_testing.errors import InvalidOption

__all__ = ["Rule"]


def _methods(value: str | Iterable[str] | None) -> frozenset[str] | None:
    if value is None:
        return None
    names = [value] if isinstance(value, str) else value
    return frozenset(name.upper() for name in names)


def _numbers(value: int | Iterable[int] | None) -> frozenset[int] | None:
    if value is None:
        return None
    return frozenset([value] if isinstance(value, int) else value)


@attrs.frozen
class Rule:
    """``effect`` happens to the operations that match, as often as the schedule says.

    Which operations: ``method`` (one or several, as in ``Operation``), ``key`` (a glob in which
    ``*`` crosses slashes), a ``predicate``. Which of them: the ``nth`` (one or several, from 1),
    every ``every``-th, those beyond the first ``after``, each with ``probability``, and at most
    ``times``. With ``per_key`` occurrences are counted for each key by itself, which keeps a random
    schedule repeatable where clients race.
    """

    effect: Effect = attrs.field(validator=checks.a(Effect))
    method: frozenset[str] | None = attrs.field(default=None, converter=_methods)
    key: str = attrs.field(kw_only=True, default="*")
    predicate: Callable[[Operation], bool] | None = attrs.field(kw_only=True, default=None)
    nth: frozenset[int] | None = attrs.field(kw_only=True, default=None, converter=_numbers)
    every: int = attrs.field(kw_only=True, default=1, validator=checks.at_least(1))
    after: int = attrs.field(kw_only=True, default=0, validator=checks.at_least(0))
    times: int | None = attrs.field(
        kw_only=True, default=None, validator=attrs.validators.optional(checks.at_least(1))
    )
    probability: float = attrs.field(kw_only=True, default=1.0, validator=checks.within(0, 1))
    seed: int = attrs.field(kw_only=True, default=0)
    per_key: bool = attrs.field(kw_only=True, default=False)

    @nth.validator
    def _from_one(self, _attribute: object, value: frozenset[int] | None) -> None:
        if value is not None and (not value or min(value) < 1):
            raise InvalidOption(
                option="Rule.nth", found=repr(sorted(value)), expected="numbers from 1"
            )

    def covers(self, operation: Operation) -> bool:
        """Return whether method and key fit, without the predicate."""
        if self.method is not None and operation.method not in self.method:
            return False
        return fnmatch.fnmatchcase(operation.key, self.key)

    def matches(self, operation: Operation) -> bool:
        """Return whether it is one of the operations that the rule is about."""
        return self.covers(operation) and (self.predicate is None or self.predicate(operation))

    def fires_at(self, number: int, key: str, position: int = 0) -> bool:
        """Return whether the schedule picks the match of that number, apart from ``times``.

        ``position`` is the rule's place among others: two rules of one seed draw independently.
        """
        if self.nth is not None and number not in self.nth:
            return False
        if number <= self.after or (number - self.after) % self.every:
            return False
        if self.probability >= 1:
            return True
        draw = f"{self.seed}/{position}/{number}/{key if self.per_key else ''}"
        return random.Random(draw).random() < self.probability  # noqa: S311

    def __str__(self) -> str:
        return str(self.effect)
