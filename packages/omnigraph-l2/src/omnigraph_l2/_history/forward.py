"""Walking the log forward, from a version of the catalog on.

Always: rows come nearly in the order of the commits, and some may come twice: two that complete the
log at once write in turns. Memory does not grow with the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

import attrs

from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import COMMITS

__all__ = ["Logged", "logged_since"]


@attrs.frozen(order=True)
class Logged:
    """A commit in the log, and where it stands among those of its branch."""

    manifest_version: int
    created_at: datetime
    commit_id: str


def logged_since(root: Root, native: str | None, version: int) -> Iterator[Logged]:
    """Read which commits of a branch the log has at a version of the catalog, and after it."""
    scanned = root.open(COMMITS, branch=native).scan(
        columns=["graph_commit_id", "manifest_version", "created_at"],
        filter=f"manifest_version >= {version}",
    )
    for batch in scanned:
        for row in batch.to_pylist():
            moment = row["created_at"].replace(tzinfo=timezone.utc)
            yield Logged(row["manifest_version"], moment, row["graph_commit_id"])
