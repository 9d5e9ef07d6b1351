"""Which rows of ``__manifest`` its newest version can do without. Pure.

Always: without them the state is the same, no commit is lost that is not in the log, and no
operation is forgotten. Older versions of the catalog still hold them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from omnigraph_l2._catalog.rows import OPERATION, PUBLISH, TABLE_VERSION, TOMBSTONE, ManifestRow
from omnigraph_l2._catalog.state import CatalogState

__all__ = ["superseded"]


def superseded(
    rows: Iterable[ManifestRow],
    state: CatalogState,
    *,
    logged: Collection[str],
    keep_publishes: int,
) -> Iterator[str]:
    """Name the rows that can go. ``logged`` has the commits that are safe in the log."""
    oldest_kept = state.last_sequence - keep_publishes
    gone = {
        made.sequence: made.commit.graph_commit_id
        for made in state.publishes
        if made.sequence <= oldest_kept and made.commit.graph_commit_id in logged
    }
    finished = set(gone.values())
    for row in rows:
        number = row.table_version or 0
        entry = state.tables.get(row.table_key)
        if row.object_type == TABLE_VERSION:
            if (entry is not None and number < entry.table_version) or number <= state.tombstone(
                row.table_key
            ):
                yield row.object_id
        elif row.object_type == TOMBSTONE:
            if entry is not None or number < state.tombstone(row.table_key):
                yield row.object_id
        elif row.object_type == PUBLISH:
            if number in gone:
                yield row.object_id
        elif (
            row.object_type == OPERATION
            and state.operations.get(row.object_id.partition("$")[2]) in finished
        ):
            yield row.object_id
