"""What a merge gives back, and what may be asked of it: plain values."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import attrs

from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._errors.merging import MergeConflict

__all__ = ["UNRESOLVED", "MergeKind", "MergeResult", "MergeStrategy", "MergedTable"]


class MergeKind(enum.Enum):
    """What a merge was."""

    ALREADY_UP_TO_DATE = "already_up_to_date"
    """The target had all of it already. Nothing was written."""
    FAST_FORWARD = "fast_forward"
    """The target had not moved since the two parted: it is now what the other side is."""
    MERGED = "merged"
    """Both had moved, and the changes were brought together."""


class _Unresolved(enum.Enum):
    UNRESOLVED = enum.auto()

    def __repr__(self) -> str:
        return "UNRESOLVED"


UNRESOLVED: Final = _Unresolved.UNRESOLVED
"""What a strategy that is a function returns to leave a conflict as it is."""

MergeStrategy: TypeAlias = Literal["error", "ours", "theirs"] | Callable[[MergeConflict], Any]


@attrs.frozen(kw_only=True)
class MergedTable:
    """What a merge did to one table of the target."""

    inserted: int | None = 0
    """How many rows; None where a version was taken over as it is, and no row was looked at."""
    updated: int | None = 0
    deleted: int | None = 0
    added: bool = False
    """Whether the type is new on the target."""
    dropped: bool = False
    """Whether the type is gone from the target."""
    redeclared: bool = False
    """Whether its properties, ends or constraints are others now."""

    def __str__(self) -> str:
        counts = (
            (self.inserted, "inserted"),
            (self.updated, "updated"),
            (self.deleted, "deleted"),
        )
        taken_over = any(count is None for count, _ in counts)
        parts = [f"{count:,} {what}" for count, what in counts if count]
        parts += [word for word in ("added", "dropped", "redeclared") if getattr(self, word)]
        return ", ".join([*parts, *(["taken over as it is"] if taken_over else [])]) or "no rows"


def _freeze(tables: Mapping[str, MergedTable]) -> Mapping[str, MergedTable]:
    return MappingProxyType(dict(tables))


@attrs.frozen(kw_only=True)
class MergeResult:
    """The result of a merge."""

    kind: MergeKind
    commit: GraphCommit | None
    """The commit on the target; None where nothing was written."""
    base_commit_id: str | None
    """The newest commit that both sides come from."""
    tables: Mapping[str, MergedTable] = attrs.field(factory=dict, converter=_freeze)
    """The tables of the target that were changed, by table key."""
    resolved: tuple[MergeConflict, ...] = ()
    """The conflicts that the strategy has decided."""

    def __str__(self) -> str:
        head = self.kind.value.replace("_", " ")
        if self.commit is not None:
            head += f" as commit {self.commit.graph_commit_id}"
        if self.resolved:
            head += f", {len(self.resolved):,} conflicts decided"
        return "\n".join([head, *(f"  {key}: {each}" for key, each in self.tables.items())])
