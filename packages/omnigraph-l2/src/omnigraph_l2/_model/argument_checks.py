"""Check arguments that callers pass: the key of a table, ids, text, a limit, a timeout. Pure.

Invariant: a value that passes has the type that the code behind relies on. Every other value raises
a typed error that says what was expected and what was found.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, NoReturn

from omnigraph_l2.errors import DataProblem, InvalidData, InvalidRequest, UnknownTable

__all__ = [
    "check_author",
    "check_count",
    "check_key",
    "check_text",
    "checked_limit",
    "invalid_argument",
    "listed_ids",
    "refuse_pickling",
]


_LONGEST_SHOWN = 200


def invalid_argument(value: object, name: str, expected: str) -> InvalidRequest:
    """Return the error for an argument that has another type or value than expected."""
    shown = repr(value)
    if len(shown) > _LONGEST_SHOWN:
        shown = f"{shown[:_LONGEST_SHOWN]}…"
    return InvalidRequest(what=f"{name} {shown}", reason=f"expected {expected}")


def check_author(actor: object, message: object) -> None:
    """Raise unless these can be the actor and the message of a commit."""
    check_text("actor", actor)
    check_text("message", message)


def check_text(name: str, value: object) -> None:
    """Raise unless the value is None or text that UTF-8 can encode."""
    if value is None:
        return
    if not isinstance(value, str):
        raise invalid_argument(value, name, "text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise invalid_argument(value, name, "text that UTF-8 can encode") from error


def check_key(table_key: object, known: Iterable[str]) -> None:
    """Raise unless the value can be the key of a table."""
    if not isinstance(table_key, str):
        raise UnknownTable(table_key=repr(table_key), known=tuple(known))


def check_count(name: str, number: object) -> None:
    """Raise unless the value is a whole number >= 1."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise invalid_argument(number, name, "a whole number >= 1")


def checked_limit(limit: object) -> int | None:
    """Return the limit that a caller passed; None means no limit."""
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise invalid_argument(limit, "limit", "a whole number >= 0, or None for all")
    return min(limit, sys.maxsize)


def listed_ids(table_key: str, ids: object) -> tuple[str, ...]:
    """Return the ids that a caller passed, or raise if they are not ids."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise invalid_argument(ids, f"ids for {table_key}", "a collection of texts")
    listed: tuple[Any, ...] = tuple(ids)
    wrong = [each for each in listed if not isinstance(each, str)]
    if wrong:
        problem = DataProblem("id", f"an id is text, found {wrong[0]!r}")
        raise InvalidData(table_key=table_key, problems=(problem,))
    return listed


def refuse_pickling(what: str, remedy: str) -> NoReturn:
    """Raise an error that says what to send to another process instead of an object of this one."""
    reason = f"it belongs to the process that opened it; {remedy}"
    raise InvalidRequest(what=f"pickling of {what}", reason=reason)
