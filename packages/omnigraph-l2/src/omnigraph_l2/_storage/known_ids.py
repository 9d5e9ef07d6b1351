"""The ids in data files that were written or read lately, so that small files are not read again.

Always: what is remembered is what the file holds, for ever, because a data file never changes.
Rows that were deleted since are still in it: whoever finds an id here asks the table whether it is
alive. Memory is bounded.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

import attrs
import pyarrow as pa

__all__ = ["KnownIds"]

_MOST_BYTES = 4 * 1024 * 1024
_BYTES_OF_AN_ENTRY = 2_048
"""What it takes to remember a file, however few its ids are."""
_MOST_IN_ONE_FILE = 8_192


@attrs.define(eq=False)
class KnownIds:
    """The ids of small data files, by the path of the file. The least used are forgotten."""

    _ids: OrderedDict[tuple[str, str], pa.Array] = attrs.field(
        factory=OrderedDict, init=False, repr=False
    )
    _bytes: int = attrs.field(default=0, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False, repr=False)

    def get(self, place: str, file: str) -> pa.Array | None:
        """Give the ids in a file of the dataset at a place; None where they are not known."""
        with self._lock:
            found = self._ids.get((place, file))
            if found is not None:
                self._ids.move_to_end((place, file))
            return found

    def put(self, place: str, file: str, ids: pa.Array) -> None:
        """Remember the ids in a file, unless they are many."""
        if len(ids) > _MOST_IN_ONE_FILE:
            return
        with self._lock:
            before = self._ids.pop((place, file), None)
            self._bytes -= 0 if before is None else _size(before)
            self._ids[place, file] = ids
            self._bytes += _size(ids)
            while self._bytes > _MOST_BYTES:
                _, gone = self._ids.popitem(last=False)
                self._bytes -= _size(gone)


def _size(ids: pa.Array) -> int:
    return int(ids.nbytes) + _BYTES_OF_AN_ENTRY
