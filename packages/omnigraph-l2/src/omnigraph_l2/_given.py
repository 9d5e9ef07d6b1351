"""What callers hand to a method by hand: the key of a table, ids, a limit, a time-out. Pure.

Always: what passes has the type that the code behind it takes for granted. Everything else is a
typed error that says what was expected and what was found.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from typing import Any, NoReturn

from omnigraph_l2.errors import DataProblem, InvalidData, InvalidRequest, UnknownTable

__all__ = [
    "check_count",
    "check_key",
    "check_timeout",
    "checked_limit",
    "listed_ids",
    "refuse_pickling",
]


def check_key(table_key: object, known: Iterable[str]) -> None:
    """Refuse what cannot be the key of a table."""
    if not isinstance(table_key, str):
        raise UnknownTable(table_key=repr(table_key), known=tuple(known))


def check_timeout(what: str, seconds: object) -> None:
    """Refuse what is no time to wait for."""
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not 0 <= seconds <= threading.TIMEOUT_MAX:  # type: ignore[operator]
        reason = f"its timeout is a number of seconds from 0, found {seconds!r}"
        raise InvalidRequest(what=what, reason=reason)


def check_count(what: str, name: str, number: object) -> None:
    """Refuse what is no whole number from 1."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        reason = f"{name} is a whole number from 1, found {number!r}"
        raise InvalidRequest(what=what, reason=reason)


def checked_limit(what: str, limit: object) -> int | None:
    """Give how many of something a caller wants at most; None for all."""
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        reason = f"limit is a whole number from 0, or None for all, found {limit!r}"
        raise InvalidRequest(what=what, reason=reason)
    return min(limit, sys.maxsize)


def listed_ids(what: str, table_key: str, ids: object) -> tuple[str, ...]:
    """Give the ids that a caller named, or refuse what are none."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        reason = f"ids are several texts, found {ids!r}: put it in a list"
        raise InvalidRequest(what=f"{what} {table_key}", reason=reason)
    listed: tuple[Any, ...] = tuple(ids)
    wrong = [each for each in listed if not isinstance(each, str)]
    if wrong:
        problem = DataProblem("id", f"an id is text, found {wrong[0]!r}")
        raise InvalidData(table_key=table_key, problems=(problem,))
    return listed


def refuse_pickling(what: str, remedy: str) -> NoReturn:
    """Say what to send to another process instead of something that lives in this one."""
    reason = f"it belongs to the process that opened it; {remedy}"
    raise InvalidRequest(what=f"Pickling {what}", reason=reason)
