"""What callers give by hand: words, numbers of versions and ids, checked before anything is done.

Always: what cannot be meant is refused with a typed error that says what may be given. Nothing is
read or written here.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, TypeVar

from omnigraph_l1._places import Place
from omnigraph_l1._text import is_text, readable
from omnigraph_l1.errors import InvalidFilter, InvalidRequest, UnknownVersion

__all__ = [
    "checked_count",
    "checked_filter",
    "checked_id",
    "checked_kind",
    "checked_list",
    "checked_texts",
    "checked_version",
    "checked_word",
    "is_mapping",
    "is_texts",
]

_Word = TypeVar("_Word", bound=Enum)
_Kind = TypeVar("_Kind")

_BEYOND_VERSIONS = 2**63
_ID = re.compile(r"[A-Za-z0-9._-]{8,128}")


def checked_word(kind: type[_Word], given: Any, *, place: Place, what: str) -> _Word:
    """Give the member that is meant, by itself or by its value."""
    try:
        return kind(given)
    except ValueError:
        allowed = ", ".join(repr(member.value) for member in kind)
        reason = f"{what} is one of {allowed}, not {given!r}"
    raise InvalidRequest(place=str(place), reason=reason)


def checked_version(given: Any, *, place: Place, branch: str | None) -> int:
    """Give the number of a version; one that no version can have is ``UnknownVersion``."""
    try:
        if isinstance(given, bool):
            raise TypeError  # noqa: TRY301 - Python takes it for a number, nobody means it
        version = operator.index(given)
    except TypeError:
        reason = f"a version is a whole number, not {given!r} ({type(given).__name__})"
        raise InvalidRequest(place=str(place), reason=reason) from None
    if not 0 < version < _BEYOND_VERSIONS:
        raise UnknownVersion(place=str(place), branch=branch, version=version)
    return version


def checked_texts(given: Any, *, place: Place, what: str) -> dict[str, str]:
    """Give a mapping of texts to texts, such as Lance keeps in its records."""
    if is_texts(given):
        return dict(given)
    reason = f"{what} maps names to text, which {given!r} does not"
    raise InvalidRequest(place=str(place), reason=reason)


def checked_count(
    given: Any, *, place: Place, what: str, least: int = 0, absent: bool = False
) -> int | None:
    """Give a number of rows; with ``absent`` also none."""
    if given is None and absent:
        return None
    if type(given) is not bool and hasattr(given, "__index__"):
        count = operator.index(given)
        if least <= count < _BEYOND_VERSIONS:
            return count
    reason = f"{what} is a whole number from {least} on, not {given!r}"
    raise InvalidRequest(place=str(place), reason=reason)


def checked_filter(given: Any, *, place: Place) -> str:
    """Give a filter that is text; whether it means anything is for Lance to say."""
    if is_text(given):
        return str(given)
    reason = "a filter is text that UTF-8 can write"
    raise InvalidFilter(place=str(place), filter=readable(given), reason=reason)


def checked_list(given: Any, *, place: Place, what: str) -> list[Any]:
    """Give a list. A single text is none: Python would take it for a list of its letters."""
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes, Mapping)):
        return list(given)
    reason = f"{what} are a list, not {given!r}"
    raise InvalidRequest(place=str(place), reason=reason)


def checked_kind(given: Any, kind: type[_Kind], *, place: Place) -> _Kind:
    """Give what must be a value of ours, such as a staged change."""
    if isinstance(given, kind):
        return given
    reason = f"a {kind.__name__} is expected, not {type(given).__name__}"
    raise InvalidRequest(place=str(place), reason=reason)


def is_texts(given: Any) -> bool:
    """Tell whether it maps texts to texts."""
    return is_mapping(given) and all(map(is_text, (*given.keys(), *given.values())))


def is_mapping(given: Any) -> bool:
    """Tell whether it maps anything to anything."""
    return isinstance(given, Mapping)


def checked_id(given: Any, *, place: Place) -> str:
    """Give the id of a transaction: Lance makes a file name of it."""
    if isinstance(given, str) and _ID.fullmatch(given):
        return given
    shown = repr(given) if len(repr(given)) <= 2 * 128 else f"{len(repr(given))} characters"
    reason = (
        "the id of a transaction is unique and is made of 8 to 128 letters, digits, '.', '_' and "
        f"'-', such as a UUID, not {shown}; leave it out, and one is made"
    )
    raise InvalidRequest(place=str(place), reason=reason)
