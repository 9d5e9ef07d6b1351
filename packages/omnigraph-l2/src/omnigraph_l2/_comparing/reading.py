"""Opening a table at a pin, and reading rows of it by id.

Always: what was cleaned up is ``SnapshotExpired``, and no error of the layer below gets out. Rows
come out in the order of their ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

import pyarrow as pa

from omnigraph_l1 import Table
from omnigraph_l2._catalog.state import TableEntry
from omnigraph_l2._comparing.doubtful import rows_with
from omnigraph_l2._snapshots.expiring import expiring
from omnigraph_l2._storage import Root

__all__ = ["opened", "reading", "rows_at"]

_BY_INDEX = 2_000
_NO_ROWS = pa.schema([pa.field("id", pa.string(), nullable=False)]).empty_table()


@contextmanager
def reading(root: Root, *entries: TableEntry | None) -> Iterator[None]:
    """Tell what goes wrong with pins that are read, where it is not known with which."""
    with ExitStack() as stack:
        for entry in entries:
            if entry is not None:
                stack.enter_context(expiring(root, entry))
        yield


def opened(root: Root, entry: TableEntry) -> Table:
    """Open a table where it is pinned."""
    with expiring(root, entry):
        return root.open(entry.table_path, branch=entry.table_branch, version=entry.table_version)


def rows_at(
    root: Root,
    entry: TableEntry | None,
    ids: pa.Array,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """Read the rows with these ids at a pin, sorted by id: by an index, or in one pass over ids.

    Ids that are not there are left out. Without a pin there are no rows, and no columns but
    ``id``. The rows that are asked for are held in memory.
    """
    if entry is None:
        return _NO_ROWS
    with expiring(root, entry):
        table = opened(root, entry)
        chosen = list(table.schema.names if columns is None else columns)
        with_id = list(dict.fromkeys([*chosen, "id"]))
        if len(ids) <= _BY_INDEX and _is_indexed(table):
            found = table.find("id", ids, columns=with_id)
        else:
            batches = list(rows_with(table, ids).batches(with_id))
            schema = pa.schema([table.schema.field(name) for name in with_id])
            found = pa.Table.from_batches(batches, schema) if batches else schema.empty_table()
        return found.sort_by("id").select(chosen)


def _is_indexed(table: Table) -> bool:
    return any(info.columns == ("id",) for info in table.indexes().values())
