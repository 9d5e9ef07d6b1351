"""Histories of a catalog: each write is what one version of ``__manifest`` added or changed.

They are made by ``plan`` where a commit is ours, and by hand where another publisher published:
so each is one that the format allows.

Rows are made and planned in memory, because some hundred histories are drawn.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import attrs
from hypothesis import strategies as st

from omnigraph_l1 import table_path
from omnigraph_l2._catalog.catalog_state import CatalogState, empty_state, fold
from omnigraph_l2._catalog.manifest_rows import ManifestRow, tombstone_key, version_key
from omnigraph_l2._catalog.publish_plan import (
    Change,
    Intent,
    RegisterTable,
    TableTombstone,
    TableUpdate,
    plan,
)
from omnigraph_l2.errors import InvalidChange

LOCATION = "/somewhere"
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
KEYS = ("node:A", "node:B", "edge:C")
OWNERS = (None, "x.01", "y.02")


@attrs.define
class History:
    """The rows as each version of the catalog shows them, and what each version wrote."""

    branch: str | None
    writes: list[list[ManifestRow]] = attrs.field(factory=list)
    versions: list[list[ManifestRow]] = attrs.field(factory=list)

    @property
    def rows(self) -> list[ManifestRow]:
        """All rows of the newest version."""
        return self.versions[-1] if self.versions else []

    def write(self, rows: list[ManifestRow]) -> None:
        """Insert or update rows by their key, as a merge does; what came keeps when it came."""
        now = {row.object_id: row for row in self.rows}
        number = len(self.versions) + 1
        written = []
        for row in rows:
            before = now.get(row.object_id)
            came = number if before is None else before.created_at_version
            row = attrs.evolve(row, created_at_version=came, updated_at_version=number)  # noqa: PLW2901
            now[row.object_id] = row
            written.append(row)
        self.writes.append(written)
        self.versions.append(list(now.values()))


def foreign_rows(change: Change) -> ManifestRow:
    """Make the row that another publisher writes."""
    key = change.table_key
    if isinstance(change, RegisterTable):
        return ManifestRow(
            object_id=key, object_type="table", table_key=key, location=change.table_path
        )
    if isinstance(change, TableTombstone):
        return ManifestRow(
            object_id=tombstone_key(key, change.table_version),
            object_type="table_tombstone",
            table_key=key,
            table_version=change.table_version,
        )
    return ManifestRow(
        object_id=version_key(key, change.table_version),
        object_type="table_version",
        metadata='{"manifest_path": "m", "naming_scheme": "V2", "what is this": [1]}',
        table_key=key,
        table_version=change.table_version,
        table_branch=change.table_branch,
        row_count=change.row_count,
    )


@st.composite
def _changes(draw: Any, state: CatalogState) -> list[Change]:
    """Draw changes, most of which the state allows."""
    changes: list[Change] = []
    for key in draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True)):
        registered = key in state.registrations
        if not registered or draw(st.integers(0, 9)) == 0:
            metadata = draw(st.sampled_from([{}, {"endpoints": {"src": "A", "dst": "B"}}]))
            changes.append(
                RegisterTable(table_key=key, table_path=table_path(key), metadata=metadata)
            )
        latest = state.floor(key)
        kind = draw(st.sampled_from(["update", "update", "update", "drop", "hand over", "none"]))
        if kind == "update":
            changes.append(
                TableUpdate(
                    table_key=key,
                    table_version=latest + draw(st.integers(1, 3)),
                    row_count=draw(st.integers(0, 5)),
                    table_branch=draw(st.sampled_from(OWNERS)),
                )
            )
        elif kind == "drop" and latest and key in state.tables:
            changes.append(
                TableTombstone(table_key=key, table_version=latest + draw(st.integers(0, 3)))
            )
        elif kind == "hand over" and key in state.tables:
            entry = state.tables[key]
            other = draw(st.sampled_from([o for o in OWNERS if o != entry.table_branch]))
            changes.append(
                TableUpdate(
                    table_key=key,
                    table_version=entry.table_version,
                    row_count=entry.row_count,
                    table_branch=other,
                )
            )
    return changes


@st.composite
def histories(draw: Any) -> History:
    """Draw a history: commits of ours, some of them several to a write, and those of others."""
    history = History(draw(st.sampled_from(OWNERS)))
    state = empty_state(LOCATION, history.branch)
    count = 0
    for _ in range(draw(st.integers(1, 10))):
        kind = draw(st.sampled_from(["ours", "ours", "several", "theirs", "unknown"]))
        rows: list[ManifestRow] = []
        planned = state
        touched: set[str] = set()
        for _ in range(draw(st.integers(2, 3)) if kind == "several" else 1):
            changes = [c for c in draw(_changes(planned)) if c.table_key not in touched]
            if kind == "theirs":
                rows += [foreign_rows(change) for change in changes]
                continue
            if kind == "unknown":
                name = f"somebody$else${draw(st.integers(0, 3))}"
                rows.append(
                    ManifestRow(object_id=name, object_type="their_own", table_key="node:Z")
                )
                continue
            count += 1
            intent = Intent(
                graph_commit_id=f"commit-{count}",
                changes=tuple(changes),
                expected={},
                created_at=NOW,
                operation_hash=draw(st.sampled_from([None, f"operation {count}"])),
            )
            try:
                made = plan(planned, intent, planned.head)
            except InvalidChange:
                continue
            rows += made.rows
            planned = made.after
            touched |= {change.table_key for change in intent.changes}
        if rows:
            history.write(rows)
            state = fold(empty_state(LOCATION, history.branch), history.rows, len(history.versions))
    return history
