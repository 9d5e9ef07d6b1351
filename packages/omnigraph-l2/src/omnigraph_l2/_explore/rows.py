"""Rows of a table, page by page, with a filter or without.

Always: a page costs what it shows, and looks through so many rows for so long; where it stopped it
says so, and where to go on. Rows of 10 MB each are read one by one, and few to a page.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import attrs
import pyarrow as pa

from omnigraph_l2 import Fragment, ReadTarget, Snapshot
from omnigraph_l2._explore.cells import shown
from omnigraph_l2.errors import InvalidRequest

__all__ = ["columns_told", "rows_page"]

Plain = dict[str, Any]

_COLUMNS: Final = 40
_ROWS_OF_A_LOOK: Final = 200_000
_BYTES_OF_A_BATCH: Final = 8_000_000
_BYTES_OF_A_PAGE: Final = 48_000_000
_SECONDS: Final = 3.0
_BY_INDEX_AT_MOST: Final = 100_000
_KEYS: Final = ("id", "src", "dst")
_TYPE: Final = 160


@attrs.frozen
class _Place:
    """Where a page begins: a fragment by its number in the table, and rows of it to pass over."""

    fragment: int = 0
    passed: int = 0

    def __str__(self) -> str:
        return f"{self.fragment}.{self.passed}"


def rows_page(
    snapshot: Snapshot,
    table_key: str,
    *,
    filter_: str | None,
    start: str | None,
    limit: int,
    clock: Callable[[], float] = time.monotonic,
) -> Plain:
    """Give some rows from a place on, which an earlier page gave as its ``next``."""
    target = snapshot.share(table_key)
    fragments = target.fragments()
    names = _names(target.schema)
    reading = _Reading(target, fragments, names, filter_, clock)
    batches, following = reading.page(_place(start), limit)
    table = pa.Table.from_batches(
        batches, schema=pa.schema([target.schema.field(n) for n in names])
    )
    cells = [shown(table.column(name).combine_chunks()) for name in names]
    looked = target.count
    if following is not None:
        looked = sum(each.rows for each in fragments[: following.fragment])
        looked = min(looked + (following.passed if filter_ is None else 0), target.count)
    return {
        "table": table_key,
        "columns": columns_told(target.schema, names),
        "left_out": len(target.schema.names) - len(names),
        "rows": [list(row) for row in zip(*cells, strict=True)] if names else [],
        "next": None if following is None else str(following),
        "looked": looked,
        "of": target.count,
        "why": reading.why,
    }


def columns_told(schema: pa.Schema, names: Sequence[str]) -> list[Plain]:
    """Tell of columns: their names, their types."""
    return [
        {
            "name": name,
            "type": str(schema.field(name).type)[:_TYPE],
            "key": name in _KEYS,
            "number": _is_number(schema.field(name).type),
        }
        for name in names
    ]


class _Reading:
    """Reads one page."""

    def __init__(
        self,
        target: ReadTarget,
        fragments: Sequence[Fragment],
        names: Sequence[str],
        filter_: str | None,
        clock: Callable[[], float],
    ) -> None:
        self._target = target
        self._fragments = fragments
        self._names = names
        self._filter = filter_
        self._clock = clock
        self.why: str | None = None
        """Why the page has fewer rows than were asked for, and more may be there."""

    def page(self, place: _Place, limit: int) -> tuple[list[pa.RecordBatch], _Place | None]:
        """Read rows from a place on; give where to go on, None at the end."""
        end = self._clock() + _SECONDS
        found: list[pa.RecordBatch] = []
        rows = size = 0
        matching = self._matching()
        at, passed = place.fragment, place.passed
        if self._filter is not None and not self._fragments:
            self._target.scan(["id"], self._filter)  # a filter is checked, even where no row is
        while at < len(self._fragments):
            following = self._group(at)
            numbers = [
                each.number
                for each in self._fragments[at:following]
                if matching is None or each.number in matching
            ]
            for batch in self._read(numbers, passed, limit + 1 - rows):
                taken = batch.slice(0, limit - rows)
                if taken.num_rows:
                    found.append(taken)
                rows += taken.num_rows
                passed += taken.num_rows
                size += taken.nbytes
                if taken.num_rows < batch.num_rows:  # there is one more
                    return found, _Place(at, passed)
                if size >= _BYTES_OF_A_PAGE:
                    self.why = "large"
                    return found, _Place(at, passed)
            at, passed = following, 0
            if self._clock() > end and at < len(self._fragments):
                self.why = "time"
                return found, _Place(at, 0)
        return found, None

    def _matching(self) -> set[int] | None:
        """Name the fragments that have matching rows, where an index tells; None where not."""
        if self._filter is None:
            return None
        by_index = self._target.matches_by_index(self._filter, _BY_INDEX_AT_MOST)
        return None if by_index is None else set(by_index)

    def _group(self, at: int) -> int:
        """Put so many fragments together that one look at them is worth it."""
        rows = 0
        while at < len(self._fragments) and rows < _ROWS_OF_A_LOOK:
            rows += self._fragments[at].rows
            at += 1
        return at

    def _read(self, numbers: Sequence[int], passed: int, limit: int) -> Iterator[pa.RecordBatch]:
        if numbers:
            yield from self._target.scan(
                self._names,
                self._filter,
                fragments=numbers,
                offset=passed,
                limit=limit,
                batch_size=self._batch_size(numbers),
            )

    def _batch_size(self, numbers: Sequence[int]) -> int:
        parts = [each for each in self._fragments if each.number in set(numbers)]
        rows = max(sum(each.rows for each in parts), 1)
        row_bytes = max(sum(each.size_bytes for each in parts) // rows, 1)
        return max(1, min(1_000, _BYTES_OF_A_BATCH // row_bytes))


def _names(schema: pa.Schema) -> list[str]:
    keys = [name for name in _KEYS if name in schema.names]
    return [*keys, *(name for name in schema.names if name not in keys)][:_COLUMNS]


def _place(start: str | None) -> _Place:
    if start is None:
        return _Place()
    fragment, _, passed = start.partition(".")
    if not (fragment.isdecimal() and passed.isdecimal() and len(start) < len(str(2**63))):
        reason = f"a place in a table is what a page gave as its next, found {start[:80]!r}"
        raise InvalidRequest(what="Reading rows", reason=reason)
    return _Place(int(fragment), int(passed))


def _is_number(type_: pa.DataType) -> bool:
    questions = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(question(type_) for question in questions)
