"""Computing a change again after each commit that it met, as long as that can help.

Always: only what is retryable is tried again. An incompatible conflict, an unknown outcome and
whatever else fails is told at once. It ends after a number of attempts, or when the time is up,
with the conflict that was met last.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

import attrs

from omnigraph_l1._events import emit
from omnigraph_l1._table.table import Table
from omnigraph_l1.errors import CommitConflict, InvalidRequest

__all__ = ["retry_conflicts"]

_T = TypeVar("_T")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.5
_sleep = time.sleep
_now = time.monotonic


def retry_conflicts(
    table: Table,
    change: Callable[[Table], _T],
    *,
    attempts: int = 100,
    within: float = 60.0,
) -> _T:
    """Give what ``change`` gives on the handle, or on the newest one after a commit that it met.

    ``change`` computes everything from the handle that it is given, such as
    ``lambda table: table.upsert(rows, key="id")``. It is called ``attempts`` times at the most,
    and not again once ``within`` seconds are over; the conflict says how often it was.

    Between two attempts is a pause of chance length, which grows to half a second.
    """
    _check(table, change, attempts, within)
    deadline = _now() + within
    longest = _FIRST_PAUSE
    for number in range(1, attempts + 1):
        try:
            return change(table)
        except CommitConflict as conflict:
            if not conflict.retryable:
                raise
            pause = random.uniform(longest / 2, longest)  # noqa: S311 - spreads writers
            if number == attempts or _now() + pause > deadline:
                raise attrs.evolve(conflict, attempts=number) from conflict
        emit("retry", place=str(table.place), attempt=number, pause=pause)
        _sleep(pause)
        longest = min(2 * longest, _LONGEST_PAUSE)
        table = table.refresh()
    raise AssertionError(attempts)  # pragma: no cover - attempts is at least one


def _check(table: object, change: object, attempts: object, within: object) -> None:
    place = str(table.place) if isinstance(table, Table) else "a table"
    problems = []
    if not isinstance(table, Table):
        problems.append(f"it works on a Table, not on {table!r}")
    if not callable(change):
        problems.append(f"it runs a function of one table, not {change!r}")
    if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
        problems.append(f"attempts is a whole number from 1, not {attempts!r}")
    if isinstance(within, bool) or not isinstance(within, (int, float)) or not within >= 0:
        problems.append(f"within is a number of seconds from 0, not {within!r}")
    if problems:
        raise InvalidRequest(place=place, reason="; ".join(problems))
