"""The files of versions: how Lance names them, and which is the newest on local disk.

V2 names count down, so that the newest sorts first: ``{2^64-1-version, 20 digits}.manifest``.
V1 names are ``{version}.manifest``. A detached version, which is no part of the history, has the
highest bit set and is named ``d{version}.manifest``. Anything else is not a version.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Final

__all__ = [
    "VERSIONS",
    "NamingScheme",
    "format_detached",
    "format_name",
    "is_newest",
    "newest_after",
    "newest_first",
    "parse_detached",
    "parse_name",
    "version_file",
]

VERSIONS: Final = "_versions"
"""The folder of a lineage that holds the files."""

_HIGHEST = 2**64 - 1
_V2_DIGITS = 20
_DETACHED = 1 << 63
_DETACHED_NAME = re.compile(r"d([0-9]+)\.manifest")
_NAME = re.compile(r"([0-9]+)\.manifest")

_LOOKED_AHEAD = 64
_YOUNG_SECONDS = 3_600.0


class NamingScheme(Enum):
    """The two ways in which Lance has named its version files."""

    V1 = "V1"
    V2 = "V2"


def format_name(version: int, scheme: NamingScheme = NamingScheme.V2) -> str:
    """Return the file name of a version."""
    if not 0 <= version <= _HIGHEST:
        msg = f"a version is a whole number from 0 to 2^64-1, not {version}"
        raise ValueError(msg)
    if scheme is NamingScheme.V1:
        return f"{version}.manifest"
    return f"{_HIGHEST - version:0{_V2_DIGITS}}.manifest"


def parse_name(name: str) -> tuple[NamingScheme, int] | None:
    """Return scheme and version of a file name, or None if it is not the file of a version."""
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
    """Return the file name of a detached version."""
    if not _DETACHED <= version <= _HIGHEST:
        msg = f"a detached version is a whole number from 2^63 to 2^64-1, not {version}"
        raise ValueError(msg)
    return f"d{version}.manifest"


def parse_detached(name: str) -> int | None:
    """Return the number of a detached version, or None if it is not the file of one."""
    found = _DETACHED_NAME.fullmatch(name)
    if found is None:
        return None
    number = int(found[1])
    return number if _DETACHED <= number <= _HIGHEST else None


def newest_first(directory: Path) -> list[tuple[int, Path]]:
    """List the version files of a lineage, the newest first."""
    found = []
    try:
        with os.scandir(directory / VERSIONS) as entries:
            for entry in entries:
                parsed = parse_name(entry.name)
                if parsed is not None:
                    found.append((parsed[1], Path(entry.path)))
    except FileNotFoundError:
        return []
    return sorted(found, reverse=True)


def is_newest(directory: Path, version: int) -> bool:
    """Return whether a version is surely the newest file of its lineage, without listing.

    False if that is not sure: then a listing decides. The cost does not grow with the history.
    """
    return newest_after(directory, version) == version


def newest_after(directory: Path, version: int) -> int | None:
    """Find the newest version file from one on that is there; None if that one is not.

    Cost follows how far it is ahead, not the history. A power cut can lose the name of a version
    and keep that of a later one, but not over so many as are looked at in one go. Cleaning can
    leave one version alone, and many gone after it, but not where that one is young: behind an old
    one the whole folder is looked at.
    """
    folder = os.fspath(directory / VERSIONS)

    def is_there(number: int) -> bool:
        return os.path.exists(f"{folder}/{format_name(number)}")  # noqa: PTH110 - hot

    if not is_there(version):
        return None
    newest = version
    while further := max(
        filter(is_there, range(newest + 1, newest + 1 + _LOOKED_AHEAD)), default=0
    ):
        newest = further
    with suppress(FileNotFoundError):  # cleaned up at this moment
        written = os.stat(f"{folder}/{format_name(newest)}").st_mtime  # noqa: PTH116 - hot
        if 0 <= time.time() - written < _YOUNG_SECONDS:
            return newest
    return max((number for number, _ in newest_first(directory)[:1]), default=None)


def version_file(directory: Path, version: int) -> Path:
    """Return the path of a version's file, whichever name it has."""
    new_first = (NamingScheme.V2, NamingScheme.V1)
    paths = [directory / VERSIONS / format_name(version, scheme) for scheme in new_first]
    return next((path for path in paths if path.exists()), paths[0])
