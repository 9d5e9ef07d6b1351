"""Run a function again on a fresh transaction after each lost race.

Invariant: only conflicts that a fresh read can resolve are retried, a bounded number of times. An
unknown outcome is never retried, because the first attempt may have been published.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from omnigraph_l2._model.argument_checks import invalid_argument
from omnigraph_l2._transaction.transaction import Transaction
from omnigraph_l2.errors import (
    ExpectedVersionMismatch,
    LeaseLost,
    PublishConflict,
    TableContention,
)

__all__ = ["retry"]

_T = TypeVar("_T")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.5


def retry(
    begin: Callable[[], Transaction], fn: Callable[[Transaction], _T], *, attempts: int
) -> _T:
    """Return the result of ``fn`` in the transaction that was published."""
    given: object = fn
    if not callable(given):
        raise invalid_argument(fn, "fn", "a function of one transaction")
    number: object = attempts
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise invalid_argument(attempts, "attempts", "a whole number >= 1")
    pause = _FIRST_PAUSE
    for left in range(attempts - 1, -1, -1):
        try:
            with begin() as tx:
                result = fn(tx)
        except (ExpectedVersionMismatch, LeaseLost, PublishConflict, TableContention):
            if not left:
                raise
            time.sleep(random.uniform(0, pause))  # noqa: S311 - spreads writers
            pause = min(2 * pause, _LONGEST_PAUSE)
        else:
            return result
    raise AssertionError(attempts)  # pragma: no cover - attempts is at least one
