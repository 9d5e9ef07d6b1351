"""Numbers for files: the same through every rename and link, and never used twice.

An inode number comes back as soon as its file is gone; the number given here does not. Always:
what stood below the root at the beginning has a number, and so has whatever was created since.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import attrs

from campaign.tracing.file_operations import Create, Operation, Write
from campaign.tracing.tracee import Location
from campaign.tracing.tracing_errors import Untraceable

__all__ = ["Identities"]


@attrs.define
class Identities:
    """Which number each file below ``root`` has."""

    root: str
    _numbers: dict[tuple[int, int], int] = attrs.field(factory=dict, init=False)
    _last: int = attrs.field(default=0, init=False)

    def contains(self, path: str) -> bool:
        """Tell whether a path is the root or below it."""
        return path == self.root or path.startswith(self.root.rstrip("/") + "/")

    def of(self, found: os.stat_result, path: str) -> int:
        """Give the number of a file that is known."""
        number = self._numbers.get((found.st_dev, found.st_ino))
        if number is None:
            raise Untraceable(path=path, reason="it came below the root in a way that was not seen")
        return number

    def at(self, path: str) -> int:
        """Give the number of what stands at a path now, itself even if it is a link."""
        return self.of(os.lstat(path), path)

    def knows(self, found: os.stat_result) -> bool:
        """Tell whether a file has a number."""
        return (found.st_dev, found.st_ino) in self._numbers

    def new(self, found: os.stat_result) -> int:
        """Give a number to a file that was just created, even if its inode was used before."""
        self._last += 1
        self._numbers[found.st_dev, found.st_ino] = self._last
        return self._last

    def forget(self, found: os.stat_result) -> None:
        """Let go of a file that left; if it comes back, it is a new one."""
        self._numbers.pop((found.st_dev, found.st_ino), None)

    def adopt(self, location: Location, *, name_it: bool) -> list[Operation]:
        """Take in a file from outside the root as if it had been created and written here."""
        path = location.path
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode):
            raise Untraceable(path=path, reason="it is no plain file and came from outside")
        number = self.new(found)
        written = Write(file=number, offset=0, data=Path(path).read_bytes(), path=path)
        if not name_it:
            return [written]
        directory = self.at(location.directory)
        created = Create(file=number, directory=directory, name=location.name, path=path)
        return [created, written]
