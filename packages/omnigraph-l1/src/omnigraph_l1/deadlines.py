"""How long and how often this package waits, and for what, and the bound that a caller sets.

Invariant: a bound limits waiting, not work that makes progress. What waits takes its bound from
here through ``wait_seconds``, so that ``within`` of a caller shortens it. Whatever is tried again
takes its attempts and pauses from a ``RetryPolicy``; which failure may be tried again the caller
decides, because only it can distinguish a lost race from a lost reply.

A table of docs/configuration.md lists these values, and a check compares them.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from math import inf
from typing import Final

import attrs

__all__ = [
    "CONFLICT_RETRY_SECONDS",
    "DELETE_SECONDS",
    "DYNAMODB_SECONDS",
    "EXIT_SECONDS",
    "LEAST_SECONDS",
    "LOCK_SECONDS",
    "PROBE_SECONDS",
    "REFS_REQUEST_SECONDS",
    "RESTORE_SECONDS",
    "SILENCE_SECONDS",
    "STORE_OPTIONS",
    "SUSPECT_PROBE_SECONDS",
    "SUSPECT_SILENCE_SECONDS",
    "Attempt",
    "RetryPolicy",
    "wait_seconds",
    "within",
]

STORE_OPTIONS: Final = {
    "client_max_retries": "3",
    "client_retry_timeout": "4",
    "connect_timeout": "2s",
    "timeout": "30s",
}
"""Options of a store that are not given, for Lance and for obstore.

``timeout`` bounds one request, sending included, so a short one would cut a slow upload of a part
(5 MB). As it is longer than ``client_retry_timeout``, a request that timed out is not sent again by
the client; Lance asks up to six times for a listing all the same. Therefore not these options but
``SILENCE_SECONDS`` decide how soon a silent store is reported.
"""

SILENCE_SECONDS: Final = 6.0
"""How long a call may wait for a store before the store is asked whether it is there.

If ``timeout`` is given as a store option, that counts instead.
"""
PROBE_SECONDS: Final = 3.0
"""How long the store may take to answer that. If it does not, the call is abandoned."""
SUSPECT_SILENCE_SECONDS: Final = 1.0
"""The same as ``SILENCE_SECONDS``, for a store that was silent and has not answered since."""
SUSPECT_PROBE_SECONDS: Final = 2.0
"""The same as ``PROBE_SECONDS``, for such a store."""

REFS_REQUEST_SECONDS: Final = 10.0
"""The longest request for a ref: these documents are small."""
DYNAMODB_SECONDS: Final = 10.0
"""The longest request to DynamoDB."""
DELETE_SECONDS: Final = 10.0
"""The longest request that removes a tombstone of a ref."""

LOCK_SECONDS: Final = 15.0
"""How long to wait for the lock of a directory of refs on local disk. It is held for milliseconds;
a holder that takes longer was stopped, or its disk hangs."""
RESTORE_SECONDS: Final = 30.0
"""How long a restore is tried again while other commits keep coming first."""
CONFLICT_RETRY_SECONDS: Final = 60.0
"""How long ``retry_conflicts`` tries again."""

EXIT_SECONDS: Final = 600.0
"""How long the interpreter may take to exit after its exit hooks, where a call was abandoned."""

LEAST_SECONDS: Final = 1.0
"""What every wait may take, whatever a caller says: one's own earlier write can be in the way."""

_longest: ContextVar[float | None] = ContextVar("omnigraph_longest_wait", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let no wait in the block take longer than that. The shortest of nested bounds counts."""
    token = _longest.set(wait_seconds(seconds))
    try:
        yield
    finally:
        _longest.reset(token)


def wait_seconds(bound: float) -> float:
    """Return how long one wait may take: ``bound``, or less if a caller said so by ``within``."""
    longest = _longest.get()
    return max(LEAST_SECONDS, bound if longest is None else min(bound, longest))


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
