"""What differs between two pins of a table, row by row, by value.

Always: exact: rows that were written again with the values that they had are not told. Memory is
bounded, and rows that did not change are not read.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pyarrow as pa

from omnigraph_l1 import Table
from omnigraph_l2._catalog.state import TableEntry
from omnigraph_l2._comparing.aligning import Aligned, Kind, aligned
from omnigraph_l2._comparing.changed import is_same_pin
from omnigraph_l2._comparing.dealt import DealtRows
from omnigraph_l2._comparing.doubtful import Doubtful, doubtful
from omnigraph_l2._comparing.reading import opened, reading
from omnigraph_l2._comparing.rows import READ_AHEAD
from omnigraph_l2._storage import Root

__all__ = ["Counts", "compared", "compared_counts", "differing"]


@attrs.frozen
class Counts:
    """How many rows were inserted, updated and deleted."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def total(self) -> int:
        """How many rows differ."""
        return self.inserted + self.updated + self.deleted


def compared(root: Root, before: TableEntry | None, after: TableEntry | None) -> Iterator[Aligned]:
    """Give the rows that differ, in parts, each sorted by id."""
    if is_same_pin(before, after):
        return
    with reading(root, before, after):
        older = None if before is None else opened(root, before)
        newer = None if after is None else opened(root, after)
        if older is not None and newer is not None:
            yield from differing(older, newer)
        elif newer is not None:
            yield from _one_side(newer, is_new=True)
        elif older is not None:
            yield from _one_side(older, is_new=False)


def differing(older: Table, newer: Table) -> Iterator[Aligned]:
    """Give the rows that differ between two versions that are open."""
    yield from _differing(doubtful(older, newer))


def compared_counts(root: Root, before: TableEntry | None, after: TableEntry | None) -> Counts:
    """Count the rows that differ. Where rows only came or only went, none is read."""
    if is_same_pin(before, after):
        return Counts()
    if before is None or after is None:
        inserted = 0 if after is None else after.row_count
        return Counts(inserted=inserted, deleted=0 if before is None else before.row_count)
    with reading(root, before, after):
        found = doubtful(opened(root, before), opened(root, after))
        if not len(found.before):
            return Counts(inserted=len(found.after))
        if not len(found.after):
            return Counts(deleted=len(found.before))
        totals = dict.fromkeys(Kind, 0)
        for part in _differing(found):
            for kind in Kind:
                totals[kind] += part.count(kind)
    return Counts(totals[Kind.INSERT], totals[Kind.UPDATE], totals[Kind.DELETE])


def _differing(found: Doubtful) -> Iterator[Aligned]:
    older, newer = found.before.table, found.after.table
    with DealtRows(_plain(older), _plain(newer)) as dealt:
        dealt.add(dealt.before, found.before.batches(older.schema.names))
        dealt.add(dealt.after, found.after.batches(newer.schema.names))
        for before, after in dealt.together():
            part = aligned(before, after)
            if len(part.ids):
                yield part


def _one_side(table: Table, *, is_new: bool) -> Iterator[Aligned]:
    schema = _plain(table)
    nothing = schema.empty_table()
    for batch in table.scan(read_ahead=READ_AHEAD):
        rows = pa.Table.from_batches([batch.cast(schema)])
        yield aligned(nothing, rows) if is_new else aligned(rows, nothing)


def _plain(table: Table) -> pa.Schema:
    """Give the columns without annotations."""
    return pa.schema([field.remove_metadata() for field in table.schema])
