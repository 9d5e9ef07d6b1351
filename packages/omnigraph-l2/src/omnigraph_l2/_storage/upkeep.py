"""Keeping a dataset quick while it grows: by whoever writes to it, past a bound.

Always: cost a row is logarithmic in the number of rows, because fragments are merged in tiers; no
row changes; what comes out is exactly the version that went in, or that version itself where
somebody else was in the way.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from omnigraph_l1 import Table
from omnigraph_l1.errors import Conflict

__all__ = ["kept_up", "merge_target"]

_TIERS = (4_096, 65_536, 1_048_576)
_SMALL_FRAGMENTS = 32
_INDEXED_FROM_ROWS = 4_096


def merge_target(fragment_rows: Collection[int]) -> int | None:
    """Tell up to which size fragments should be merged now; None where there is nothing to do."""
    due = [
        tier for tier in _TIERS if sum(rows < tier for rows in fragment_rows) >= _SMALL_FRAGMENTS
    ]
    return min(due, default=None)


def kept_up(table: Table, indexed: Sequence[str]) -> Table:
    """Merge small fragments and extend the indexes of some columns, where that is due."""
    rows = table.fragments()
    target = merge_target(rows.values())
    if target is None:
        return table
    try:
        compacted = table.compact(target_rows=target, drop_deleted=target == _TIERS[-1])
        if not compacted.follows_base:
            return table
        return (
            _indexed(compacted.table, indexed)
            if table.count() >= _INDEXED_FROM_ROWS
            else (compacted.table)
        )
    except Conflict:
        return table


def _indexed(table: Table, columns: Sequence[str]) -> Table:
    known = {info.columns[0]: info for info in table.indexes().values()}
    for column in columns:
        info = known.get(column)
        done = table.create_index(column) if info is None else table.extend_index(info.name)
        if not done.follows_base:
            return table
        table = done.table
    return table
