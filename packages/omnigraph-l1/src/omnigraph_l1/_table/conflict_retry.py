"""Compute a change again after each commit that it conflicts with.

Invariant: only what is retryable is tried again. An incompatible conflict, an unknown outcome and
whatever else fails is raised at once. It ends after a number of attempts, or when the time is up,
with the conflict that was met last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import attrs

from omnigraph_l1._events import emit
from omnigraph_l1._table.table import Table
from omnigraph_l1.deadlines import CONFLICT_RETRY_SECONDS, RetryPolicy
from omnigraph_l1.errors import CommitConflict, InvalidRequest

__all__ = ["retry_conflicts"]

_T = TypeVar("_T")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.5


def retry_conflicts(
    table: Table,
    change: Callable[[Table], _T],
    *,
    attempts: int = 100,
    within: float = CONFLICT_RETRY_SECONDS,
) -> _T:
    """Return what ``change`` gives on the handle, or on the newest one after a commit that it met.

    ``change`` computes everything from the handle that it is given, such as
    ``lambda table: table.upsert(rows, key="id")``. It is called ``attempts`` times at the most,
    and not again once ``within`` seconds are over; the conflict says how often it was.

    Between two attempts is a pause of chance length, which grows to half a second.
    """
    _check(table, change, attempts, within)
    policy = RetryPolicy(
        attempts=attempts,
        seconds=within,
        first_pause=_FIRST_PAUSE,
        longest_pause=_LONGEST_PAUSE,
    )
    for attempt in policy.tries():
        if attempt.number > 1:
            table = table.refresh()
        try:
            return change(table)
        except CommitConflict as conflict:
            if not conflict.retryable:
                raise
            if attempt.is_last:
                raise attrs.evolve(conflict, attempts=attempt.number) from conflict
        emit("retry", location=str(table.location), attempt=attempt.number, pause=attempt.pause)
    raise AssertionError


def _check(table: object, change: object, attempts: object, within: object) -> None:
    location = str(table.location) if isinstance(table, Table) else "a table"
    problems = []
    if not isinstance(table, Table):
        problems.append(f"invalid table {table!r}: expected a Table")
    if not callable(change):
        problems.append(f"invalid change {change!r}: expected a function of one table")
    if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
        problems.append(f"invalid attempts {attempts!r}: expected a whole number >= 1")
    if isinstance(within, bool) or not isinstance(within, (int, float)) or not within >= 0:
        problems.append(f"invalid within {within!r}: expected a number of seconds >= 0")
    if problems:
        raise InvalidRequest(location=location, reason="; ".join(problems))
