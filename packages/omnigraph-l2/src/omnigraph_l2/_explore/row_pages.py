"""Rows of a table, page by page, optionally with a filter.

Invariant: the rows, bytes and seconds spent on a page are bounded. A page that stops early states
why, and where to continue. Large rows are read one by one, with few rows per page.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import attrs
import pyarrow as pa

from omnigraph_l2 import Fragment, ReadTarget, Snapshot
from omnigraph_l2._explore.cell_text import format_cells
from omnigraph_l2._explore.serialize import JsonObject
from omnigraph_l2.errors import InvalidRequest

__all__ = ["describe_columns", "read_row_page"]

_COLUMNS: Final = 40
_ROWS_PER_SCAN: Final = 200_000
_BYTES_PER_BATCH: Final = 8_000_000
_BYTES_PER_PAGE: Final = 48_000_000
_SECONDS: Final = 3.0
_MOST_INDEX_MATCHES: Final = 100_000
_KEYS: Final = ("id", "src", "dst")
_TYPE: Final = 160


@attrs.frozen
class _Position:
    """The start of a page: a fragment by its number in the table, and rows of it to skip."""

    fragment: int = 0
    skipped: int = 0

    def __str__(self) -> str:
        return f"{self.fragment}.{self.skipped}"


def read_row_page(
    snapshot: Snapshot,
    table_key: str,
    *,
    filter_: str | None,
    start: str | None,
    limit: int,
    clock: Callable[[], float] = time.monotonic,
) -> JsonObject:
    """Return rows from a position on, which is the ``next`` of an earlier page."""
    target = snapshot.share(table_key)
    fragments = target.fragments()
    names = _names(target.schema)
    reader = _PageReader(target, fragments, names, filter_, clock)
    batches, following = reader.page(_parse_position(start), limit)
    table = pa.Table.from_batches(
        batches, schema=pa.schema([target.schema.field(n) for n in names])
    )
    cells = [format_cells(table.column(name).combine_chunks()) for name in names]
    looked = target.count
    if following is not None:
        looked = sum(each.rows for each in fragments[: following.fragment])
        looked = min(looked + (following.skipped if filter_ is None else 0), target.count)
    return {
        "table": table_key,
        "columns": describe_columns(target.schema, names),
        "left_out": len(target.schema.names) - len(names),
        "rows": [list(row) for row in zip(*cells, strict=True)] if names else [],
        "next": None if following is None else str(following),
        "looked": looked,
        "of": target.count,
        "why": reader.why,
    }


def describe_columns(schema: pa.Schema, names: Sequence[str]) -> list[JsonObject]:
    """Return the names and types of columns."""
    return [
        {
            "name": name,
            "type": str(schema.field(name).type)[:_TYPE],
            "key": name in _KEYS,
            "number": _is_number(schema.field(name).type),
        }
        for name in names
    ]


class _PageReader:
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
        """Why the page ends early: ``large``, ``time``, or None if it does not."""

    def page(self, start: _Position, limit: int) -> tuple[list[pa.RecordBatch], _Position | None]:
        """Read rows from a position on; return the next position, None at the end."""
        end = self._clock() + _SECONDS
        found: list[pa.RecordBatch] = []
        rows = size = 0
        matching = self._matching()
        at, skipped = start.fragment, start.skipped
        if self._filter is not None and not self._fragments:
            self._target.scan(["id"], self._filter)  # checks the filter
        while at < len(self._fragments):
            following = self._group(at)
            numbers = [
                each.number
                for each in self._fragments[at:following]
                if matching is None or each.number in matching
            ]
            for batch in self._read(numbers, skipped, limit + 1 - rows):
                taken = batch.slice(0, limit - rows)
                if taken.num_rows:
                    found.append(taken)
                rows += taken.num_rows
                skipped += taken.num_rows
                size += taken.nbytes
                if taken.num_rows < batch.num_rows:  # there are more rows
                    return found, _Position(at, skipped)
                if size >= _BYTES_PER_PAGE:
                    self.why = "large"
                    return found, _Position(at, skipped)
            at, skipped = following, 0
            if self._clock() > end and at < len(self._fragments):
                self.why = "time"
                return found, _Position(at, 0)
        return found, None

    def _matching(self) -> set[int] | None:
        """Return the fragments with matching rows from an index; None if no index applies."""
        if self._filter is None:
            return None
        by_index = self._target.matches_by_index(self._filter, _MOST_INDEX_MATCHES)
        return None if by_index is None else set(by_index)

    def _group(self, at: int) -> int:
        """Return the end of a group of fragments that one scan reads."""
        rows = 0
        while at < len(self._fragments) and rows < _ROWS_PER_SCAN:
            rows += self._fragments[at].rows
            at += 1
        return at

    def _read(self, numbers: Sequence[int], skipped: int, limit: int) -> Iterator[pa.RecordBatch]:
        if numbers:
            yield from self._target.scan(
                self._names,
                self._filter,
                fragments=numbers,
                offset=skipped,
                limit=limit,
                batch_size=self._batch_size(numbers),
            )

    def _batch_size(self, numbers: Sequence[int]) -> int:
        parts = [each for each in self._fragments if each.number in set(numbers)]
        rows = max(sum(each.rows for each in parts), 1)
        row_bytes = max(sum(each.size_bytes for each in parts) // rows, 1)
        return max(1, min(1_000, _BYTES_PER_BATCH // row_bytes))


def _names(schema: pa.Schema) -> list[str]:
    keys = [name for name in _KEYS if name in schema.names]
    return [*keys, *(name for name in schema.names if name not in keys)][:_COLUMNS]


def _parse_position(start: str | None) -> _Position:
    if start is None:
        return _Position()
    fragment, _, skipped = start.partition(".")
    if not (fragment.isdecimal() and skipped.isdecimal() and len(start) < len(str(2**63))):
        raise InvalidRequest(what=f"start {start[:80]!r}", reason="expected the next of a page")
    return _Position(int(fragment), int(skipped))


def _is_number(type_: pa.DataType) -> bool:
    questions = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(question(type_) for question in questions)
