"""What callers give by hand: words, numbers of versions and ids, checked before anything is done.

Always: what cannot be meant is refused with a typed error that says what may be given. Nothing is
read or written here.
"""

from __future__ import annotations

import operator
import re
from enum import Enum
from typing import Any, TypeVar

from omnigraph_l1._places import Place
from omnigraph_l1.errors import InvalidRequest, UnknownVersion

__all__ = ["checked_id", "checked_version", "checked_word"]

_Word = TypeVar("_Word", bound=Enum)

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
