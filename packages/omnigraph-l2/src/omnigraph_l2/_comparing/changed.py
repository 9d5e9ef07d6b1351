"""The ids of the rows that may differ between two pins of a table.

Always: no id that differs is missing. Equal pins cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from omnigraph_l2._catalog.state import TableEntry
from omnigraph_l2._comparing.doubtful import doubtful
from omnigraph_l2._comparing.reading import opened, reading
from omnigraph_l2._data.ids import IdSet
from omnigraph_l2._storage import Root

__all__ = ["changed_ids", "is_same_pin"]


def changed_ids(root: Root, before: TableEntry | None, after: TableEntry | None) -> IdSet:
    """Give ids, among them all whose rows differ. Whoever asks closes it.

    An id may have been added twice; ``IdSet.batches`` gives it once.
    """
    found = IdSet()
    try:
        for ids in _doubtful_ids(root, before, after):
            found.add(ids)
    except BaseException:
        found.close()
        raise
    return found


def is_same_pin(before: TableEntry | None, after: TableEntry | None) -> bool:
    """Tell whether two entries show the very same version of a table."""
    return _pin(before) == _pin(after)


def _pin(entry: TableEntry | None) -> tuple[str, str | None, int] | None:
    return None if entry is None else (entry.table_path, entry.table_branch, entry.table_version)


def _doubtful_ids(
    root: Root, before: TableEntry | None, after: TableEntry | None
) -> Iterator[pa.Array]:
    if is_same_pin(before, after):
        return
    with reading(root, before, after):
        if before is not None and after is not None:
            rows = doubtful(opened(root, before), opened(root, after))
            for side in (rows.before, rows.after):
                for batch in side.batches(["id"]):
                    yield batch.column(0)
            return
        for entry in (before, after):
            if entry is not None:
                for batch in opened(root, entry).scan(columns=["id"]):
                    yield batch.column(0)
