"""Find the rows of ``__manifest`` that its newest version does not need. Pure.

Invariant: without these rows the state is the same, every commit is still in the log, and every
operation is still known. Older versions of the catalog keep the rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from omnigraph_l2._catalog.catalog_state import CatalogState
from omnigraph_l2._catalog.manifest_rows import (
    OPERATION,
    PUBLISH,
    TABLE_VERSION,
    TOMBSTONE,
    ManifestRow,
)

__all__ = ["find_superseded"]


def find_superseded(
    rows: Iterable[ManifestRow],
    state: CatalogState,
    *,
    logged: Collection[str],
    keep_publishes: int,
) -> Iterator[str]:
    """Return the keys of rows that can be dropped. ``logged`` has the commits in the log."""
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
