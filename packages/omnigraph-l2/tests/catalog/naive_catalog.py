"""What a branch shows, computed anew from all rows in the words of the format, and slowly.

    For each (table_key, table_branch) the highest table_version, leaving out those that a tombstone
    of the same table_key covers; of what is left for a table_key, the highest version; on a tie,
    the row owned by the branch being read.

It shares nothing with ``omnigraph_l2._catalog.catalog_state`` but the rows, which are private: the
reducer is compared with it in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from omnigraph_l2._catalog.manifest_rows import ManifestRow

Shown = dict[str, tuple[str, int, str | None, int]]


def shown(rows: Iterable[ManifestRow], branch: str | None) -> Shown:
    """Give path, version, owner and row count of each table that is visible."""
    listed = list(rows)
    found: Shown = {}
    for registration in [row for row in listed if row.object_type == "table"]:
        key = registration.table_key
        of_table = [row for row in listed if row.table_key == key]
        tombstones = [row.table_version for row in of_table if row.object_type == "table_tombstone"]
        alive = [
            row
            for row in of_table
            if row.object_type == "table_version"
            and not any(tombstone >= row.table_version for tombstone in tombstones)
        ]
        best_of_owner = {}
        for row in alive:
            before = best_of_owner.get(row.table_branch)
            if before is None or before.table_version < row.table_version:
                best_of_owner[row.table_branch] = row
        if not best_of_owner:
            continue
        highest = max(row.table_version for row in best_of_owner.values())
        tied = [row for row in best_of_owner.values() if row.table_version == highest]
        chosen = next((row for row in tied if row.table_branch == branch), tied[0])
        found[key] = (
            registration.location,
            chosen.table_version,
            chosen.table_branch,
            chosen.row_count,
        )
    return found


def latest(rows: Iterable[ManifestRow], branch: str | None, table_key: str) -> int:
    """Return what an expectation is compared with."""
    visible = shown(list(rows), branch)
    return visible[table_key][1] if table_key in visible else 0


def floor(rows: Iterable[ManifestRow], branch: str | None, table_key: str) -> int:
    """Return the version that a new one must be above."""
    listed = list(rows)
    visible = shown(listed, branch)
    if table_key in visible:
        return visible[table_key][1]
    return max(
        (
            row.table_version
            for row in listed
            if row.object_type == "table_tombstone" and row.table_key == table_key
        ),
        default=0,
    )


def commits(rows: Iterable[ManifestRow]) -> list[tuple[int, str]]:
    """Give the commits that the rows hold, in their order."""
    return sorted(
        (row.table_version, json.loads(row.metadata)["graph_commit_id"])
        for row in rows
        if row.object_type == "publish"
    )


def operations(rows: Iterable[ManifestRow]) -> dict[str, str]:
    """Give what the rows know of operations."""
    return {
        row.object_id.split("$")[1]: json.loads(row.metadata)["graph_commit_id"]
        for row in rows
        if row.object_type == "operation"
    }


def until(rows: Iterable[ManifestRow], sequence: int) -> list[ManifestRow]:
    """Keep what the commits up to one of them made, and what no commit of ours made."""

    def made_by(row: ManifestRow) -> int:
        if row.object_type == "publish":
            return row.table_version
        return json.loads(row.metadata or "{}").get("publish", 0)

    return [row for row in rows if made_by(row) <= sequence]
