"""Running a function again on a fresh transaction after each lost race.

Always: only conflicts that a fresh look can cure are tried again, a bounded number of times. An
unknown outcome never is: the first attempt may have happened.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from omnigraph_l2._transactions.transaction import Transaction
from omnigraph_l2.errors import (
    ExpectedVersionMismatch,
    InvalidRequest,
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
    """Give what ``fn`` gave in the transaction that was published."""
    given: object = fn
    if not callable(given):
        reason = f"it runs a function of one transaction, found {fn!r}"
        raise InvalidRequest(what="Retrying", reason=reason)
    number: object = attempts
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        reason = f"attempts is a whole number from 1, found {attempts!r}"
        raise InvalidRequest(what="Retrying", reason=reason)
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
