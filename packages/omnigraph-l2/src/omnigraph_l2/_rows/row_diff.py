"""What differs between two pins of a table, row by row, by value.

Invariant: the result is exact: rows that were rewritten with equal values are left out. Memory is
bounded, and rows that did not change are not read.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pyarrow as pa

from omnigraph_l1 import Table
from omnigraph_l2._catalog.catalog_state import TableEntry
from omnigraph_l2._rows.addressed_rows import READ_AHEAD
from omnigraph_l2._rows.change_candidates import ChangeCandidates, find_candidates
from omnigraph_l2._rows.pinned_reads import is_same_pin, open_pinned, translate_read_errors
from omnigraph_l2._rows.row_alignment import Aligned, Kind, align
from omnigraph_l2._rows.spill_join import PartitionedRows
from omnigraph_l2._store.repository_root import RepositoryRoot

__all__ = ["Counts", "compare_rows", "compared_counts", "differing"]


@attrs.frozen
class Counts:
    """The numbers of inserted, updated and deleted rows."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def total(self) -> int:
        """How many rows differ."""
        return self.inserted + self.updated + self.deleted


def compare_rows(
    root: RepositoryRoot, before: TableEntry | None, after: TableEntry | None
) -> Iterator[Aligned]:
    """Return the rows that differ, in parts, each sorted by id."""
    if is_same_pin(before, after):
        return
    with translate_read_errors(root, before, after):
        older = None if before is None else open_pinned(root, before)
        newer = None if after is None else open_pinned(root, after)
        if older is not None and newer is not None:
            yield from differing(older, newer)
        elif newer is not None:
            yield from _one_side(newer, is_new=True)
        elif older is not None:
            yield from _one_side(older, is_new=False)


def differing(older: Table, newer: Table) -> Iterator[Aligned]:
    """Return the rows that differ between two versions that are open."""
    yield from _differing(find_candidates(older, newer))


def compared_counts(
    root: RepositoryRoot, before: TableEntry | None, after: TableEntry | None
) -> Counts:
    """Count the rows that differ. If rows were only added or only removed, none is read."""
    if is_same_pin(before, after):
        return Counts()
    if before is None or after is None:
        inserted = 0 if after is None else after.row_count
        return Counts(inserted=inserted, deleted=0 if before is None else before.row_count)
    with translate_read_errors(root, before, after):
        found = find_candidates(open_pinned(root, before), open_pinned(root, after))
        if not len(found.before):
            return Counts(inserted=len(found.after))
        if not len(found.after):
            return Counts(deleted=len(found.before))
        totals = dict.fromkeys(Kind, 0)
        for part in _differing(found):
            for kind in Kind:
                totals[kind] += part.count(kind)
    return Counts(totals[Kind.INSERT], totals[Kind.UPDATE], totals[Kind.DELETE])


def _differing(found: ChangeCandidates) -> Iterator[Aligned]:
    older, newer = found.before.table, found.after.table
    with PartitionedRows(_plain(older), _plain(newer)) as partitioned:
        partitioned.add(partitioned.before, found.before.batches(older.schema.names))
        partitioned.add(partitioned.after, found.after.batches(newer.schema.names))
        for before, after in partitioned.partitions():
            part = align(before, after)
            if len(part.ids):
                yield part


def _one_side(table: Table, *, is_new: bool) -> Iterator[Aligned]:
    schema = _plain(table)
    nothing = schema.empty_table()
    for batch in table.scan(read_ahead=READ_AHEAD):
        rows = pa.Table.from_batches([batch.cast(schema)])
        yield align(nothing, rows) if is_new else align(rows, nothing)


def _plain(table: Table) -> pa.Schema:
    """Return the columns without annotations."""
    return pa.schema([field.remove_metadata() for field in table.schema])
