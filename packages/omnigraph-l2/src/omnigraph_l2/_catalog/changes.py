"""What a publish can change, and what it takes to publish it: plain values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

import attrs

from omnigraph_l2._catalog.state import CatalogState

__all__ = ["Change", "Intent", "RegisterTable", "TableTombstone", "TableUpdate"]


@attrs.frozen(kw_only=True)
class RegisterTable:
    """Make a table known, or change what is said of it. It is visible once it has a version."""

    table_key: str
    table_path: str
    """Where its dataset is, below the root. It can never be another one."""
    metadata: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class TableUpdate:
    """Make a version of a table's dataset the one that is visible."""

    table_key: str
    table_version: int
    row_count: int
    table_branch: str | None = None
    """The native branch that holds the version; None is the main lineage."""
    metadata: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class TableTombstone:
    """Drop a table: every version of it up to this one."""

    table_key: str
    table_version: int


Change: TypeAlias = RegisterTable | TableUpdate | TableTombstone


@attrs.frozen(kw_only=True)
class Intent:
    """One commit that shall be published: all that does not depend on what others publish."""

    graph_commit_id: str
    changes: tuple[Change, ...]
    expected: Mapping[str, int]
    created_at: datetime
    """The clock of the writer; the commit gets a later moment where its parent's is not past."""
    actor_id: str | None = None
    message: str | None = None
    run_id: str | None = None
    operation_hash: str | None = None
    not_done_through: int = 0
    """The sequence of the commit up to which it was seen that nobody has done the operation."""
    merged_parent_commit_id: str | None = None
    reads: frozenset[str] = frozenset()
    """On the branch of a run: the tables that were read."""
    expects_visible: bool = False
    """Whether what is expected must be visible: a table can be dropped at the very version."""
    same_types_as: CatalogState | None = attrs.field(default=None, repr=False)
    """A state whose tables must still be those that are there, registered as they were."""

    @property
    def touched(self) -> frozenset[str]:
        """The tables that it changes or has an expectation about."""
        return frozenset(change.table_key for change in self.changes) | frozenset(self.expected)
