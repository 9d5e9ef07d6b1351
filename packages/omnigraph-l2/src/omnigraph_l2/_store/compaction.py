"""Compact a dataset while it grows. The writer that passes a bound does it.

Invariant: no row changes. The result is exactly the version that was compacted, or that version
itself if another writer interfered. Fragments are merged in tiers, so that the cost of a row is
logarithmic in the number of rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from omnigraph_l1 import Table
from omnigraph_l1.errors import Conflict

__all__ = ["compact_if_due", "merge_target"]

_TIERS = (4_096, 65_536, 1_048_576)
_SMALL_FRAGMENTS = 32
_INDEXED_FROM_ROWS = 4_096


def merge_target(fragment_rows: Collection[int]) -> int | None:
    """Return the size up to which fragments should be merged now; None if nothing is due."""
    due = [
        tier for tier in _TIERS if sum(rows < tier for rows in fragment_rows) >= _SMALL_FRAGMENTS
    ]
    return min(due, default=None)


def compact_if_due(table: Table, indexed: Sequence[str]) -> Table:
    """Merge small fragments and extend the indexes of some columns, if that is due."""
    rows = table.fragments()
    target = merge_target(rows.values())
    if target is None:
        return table
    try:
        compacted = table.compact(target_rows=target, drop_deleted=target == _TIERS[-1])
        if not compacted.follows_base:
            return table
        return (
            _extend_indexes(compacted.table, indexed)
            if table.count() >= _INDEXED_FROM_ROWS
            else (compacted.table)
        )
    except Conflict:
        return table


def _extend_indexes(table: Table, columns: Sequence[str]) -> Table:
    known = {info.columns[0]: info for info in table.indexes().values()}
    for column in columns:
        info = known.get(column)
        done = table.create_index(column) if info is None else table.extend_index(info.name)
        if not done.follows_base:
            return table
        table = done.table
    return table
