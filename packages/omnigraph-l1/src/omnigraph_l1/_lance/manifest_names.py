"""How Lance names the file of a version. Pure: names in, numbers out.

V2 names count down, so that the newest sorts first: ``{2^64-1-version, 20 digits}.manifest``.
V1 names are ``{version}.manifest``. A detached version, which is no part of the history, has the
highest bit set and is named ``d{version}.manifest``. Anything else is not a version.
"""

from __future__ import annotations

import re
from enum import Enum

__all__ = ["NamingScheme", "format_detached", "format_name", "parse_detached", "parse_name"]

_HIGHEST = 2**64 - 1
_V2_DIGITS = 20
_DETACHED = 1 << 63
_DETACHED_NAME = re.compile(r"d([0-9]+)\.manifest")
_NAME = re.compile(r"([0-9]+)\.manifest")


class NamingScheme(Enum):
    """The two ways in which Lance has named its version files."""

    V1 = "V1"
    V2 = "V2"


def format_name(version: int, scheme: NamingScheme = NamingScheme.V2) -> str:
    """Name the file of a version."""
    if not 0 <= version <= _HIGHEST:
        msg = f"a version is a whole number from 0 to 2^64-1, not {version}"
        raise ValueError(msg)
    if scheme is NamingScheme.V1:
        return f"{version}.manifest"
    return f"{_HIGHEST - version:0{_V2_DIGITS}}.manifest"


def parse_name(name: str) -> tuple[NamingScheme, int] | None:
    """Tell scheme and version of a file name, or None where it is not the file of a version."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    digits = found[1]
    number = int(digits)
    if len(digits) == _V2_DIGITS and number <= _HIGHEST:
        return NamingScheme.V2, _HIGHEST - number
    if number <= _HIGHEST and digits == str(number):
        return NamingScheme.V1, number
    return None


def format_detached(version: int) -> str:
    """Name the file of a detached version."""
    if not _DETACHED <= version <= _HIGHEST:
        msg = f"a detached version is a whole number from 2^63 to 2^64-1, not {version}"
        raise ValueError(msg)
    return f"d{version}.manifest"


def parse_detached(name: str) -> int | None:
    """Tell the number of a detached version, or None where it is not the file of one."""
    found = _DETACHED_NAME.fullmatch(name)
    if found is None:
        return None
    number = int(found[1])
    return number if _DETACHED <= number <= _HIGHEST else None
