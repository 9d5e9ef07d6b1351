"""Graph commits, and their place in the sequence of a branch. Pure values."""

from __future__ import annotations

from datetime import datetime, timezone

import attrs

__all__ = ["EPOCH", "GraphCommit", "Published"]

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@attrs.frozen(kw_only=True)
class GraphCommit:
    """One change of the graph. All tables that it changed became visible together."""

    graph_commit_id: str
    parent_commit_id: str | None
    merged_parent_commit_id: str | None = None
    manifest_branch: str | None = None
    """The native branch that it was made on; None is main."""
    manifest_version: int
    """The version of the catalog that shows it. ``repo.snapshot(version=…)`` takes it."""
    actor_id: str | None = None
    message: str | None = None
    created_at: datetime
    run_id: str | None = None
    operation_hash: str | None = None


@attrs.frozen
class Published:
    """A commit, and its place in the sequence of its branch."""

    sequence: int
    commit: GraphCommit

    @property
    def commit_id(self) -> str:
        """The id of the commit."""
        return self.commit.graph_commit_id
