"""How often, for how long and with which pauses an operation is tried again.

The caller decides what may be tried again: only it can distinguish a lost race from a lost reply.
See docs/design/0014-one-retry-policy.md.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from functools import cached_property
from math import inf

import attrs

__all__ = ["Attempt", "RetryPolicy"]

_sleep = time.sleep
_now = time.monotonic


@attrs.frozen(kw_only=True)
class RetryPolicy:
    """A limit of attempts, a limit of seconds, and pauses that double between two bounds."""

    attempts: float = inf
    """How many attempts there are, the first one included."""
    seconds: float = inf
    """No attempt starts later than this after the first one."""
    first_pause: float = 0.0
    longest_pause: float = inf

    def tries(self) -> Iterator[Attempt]:
        """Yield one attempt after another, and pause in between.

        A pause has a random length between half of its bound and the bound, to spread writers. The
        caller leaves the loop when it succeeds, and raises if the attempt ``is_last``.
        """
        deadline = _now() + self.seconds
        longest = self.first_pause
        for number in itertools.count(1):
            attempt = Attempt(number, longest, number >= self.attempts, deadline)
            yield attempt
            if longest:
                _sleep(attempt.pause)
            longest = min(2 * longest, self.longest_pause)


class Attempt:
    """One attempt of an operation."""

    def __init__(self, number: int, longest: float, is_final: bool, deadline: float) -> None:  # noqa: FBT001
        self.number = number
        self._longest = longest
        self._is_final = is_final
        self._deadline = deadline

    @cached_property
    def pause(self) -> float:
        """How many seconds pass before the next attempt."""
        return random.uniform(self._longest / 2, self._longest)  # noqa: S311 - spreads writers

    @property
    def is_last(self) -> bool:
        """Whether no attempt may follow: because of their number, or of the time by now."""
        return self._is_final or _now() + self._longest > self._deadline
