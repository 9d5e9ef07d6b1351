"""Decode the JSON documents below ``_refs/``: format number, types and damage. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any, Final, TypeVar

from omnigraph_l2.errors import CorruptRepository

__all__ = [
    "DOCUMENT_FORMAT",
    "check_number",
    "check_optional",
    "check_type",
    "parse_time",
    "reading_document",
]

DOCUMENT_FORMAT: Final = 1
_MOST: Final = 2**63 - 1
"""The largest version that Lance can be asked for."""

_T = TypeVar("_T")


@contextmanager
def reading_document(document: Mapping[str, Any], *, item: str, location: str) -> Iterator[None]:
    """Read a document: raise ``CorruptRepository`` if its format is unknown or a value is wrong."""
    try:
        if document["format"] != DOCUMENT_FORMAT:
            detail = f"its format is {document['format']!r}, known is {DOCUMENT_FORMAT}"
            raise CorruptRepository(location=location, item=item, detail=detail)
        yield
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        detail = f"it cannot be read ({type(error).__name__}: {error})"
        raise CorruptRepository(location=location, item=item, detail=detail) from error


def parse_time(text: str) -> datetime:
    """Return a time in a document, in UTC. It is UTC if it has no time zone."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        return time.replace(tzinfo=timezone.utc)
    return time.astimezone(timezone.utc)


def check_number(value: Any) -> int:
    """Return a whole number from 0 on, or raise ``TypeError`` or ``ValueError``."""
    number = check_type(value, int)
    if not 0 <= number <= _MOST:
        problem = f"{number} is no number from 0 to {_MOST}"
        raise ValueError(problem)
    return number


def check_type(value: Any, kind: type[_T]) -> _T:
    """Return a value, or raise ``TypeError`` if it has another type."""
    if not isinstance(value, kind) or isinstance(value, bool):
        problem = f"{value!r} is no {kind.__name__}"
        raise TypeError(problem)
    return value


def check_optional(value: Any, kind: type[_T]) -> _T | None:
    """Return a value that may be None, or raise ``TypeError`` if it has another type."""
    return None if value is None else check_type(value, kind)
