"""Errors of a merge whose two sides changed the same thing, with no rule to choose between them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
from attrs import define

from omnigraph_l2._errors.conflict import Conflict

__all__ = ["MergeConflict", "MergeConflictKind", "MergeConflicts"]

_SHOWN = 5


class MergeConflictKind(enum.Enum):
    """The kinds of conflict."""

    DIVERGENT_INSERT = "divergent_insert"
    """Both sides added a row of this id, and the rows differ."""
    DIVERGENT_UPDATE = "divergent_update"
    """Both sides changed the row, each in its own way."""
    DELETE_VS_UPDATE = "delete_vs_update"
    """One side deleted the row, the other changed it."""
    ORPHAN_EDGE = "orphan_edge"
    """The edge would name a node that is not there: the other side deleted it."""
    DROP_VS_CHANGE = "drop_vs_change"
    """One side dropped the type, the other changed its rows, its properties, or edges to it."""
    DIVERGENT_SCHEMA = "divergent_schema"
    """Both sides declare the type, and the declarations cannot be brought together."""


_WORDS = {
    MergeConflictKind.DIVERGENT_INSERT: "was added on both, differently",
    MergeConflictKind.DIVERGENT_UPDATE: "was changed on both, differently",
    MergeConflictKind.DELETE_VS_UPDATE: "was deleted on one and changed on the other",
    MergeConflictKind.ORPHAN_EDGE: "would name a node that is not there",
    MergeConflictKind.DROP_VS_CHANGE: "was dropped on one and changed on the other",
    MergeConflictKind.DIVERGENT_SCHEMA: "is declared differently on both",
}


@attrs.frozen(kw_only=True)
class MergeConflict:
    """One thing that both sides changed. ``ours`` is the target, ``theirs`` what is merged.

    Of the rows, a value that Python does not have (a day after the year 9999) is shown as text.
    """

    table_key: str
    row_id: str | None
    """None where the type itself is in conflict."""
    kind: MergeConflictKind
    ours: Mapping[str, Any] | None = None
    """The row on the target; None where it is not there."""
    theirs: Mapping[str, Any] | None = None
    """The row on the side that is merged; None where it is not there."""
    base: Mapping[str, Any] | None = None
    """The row that both come from; None where there was none, or where it was in conflict too."""
    detail: str = ""
    """What more there is to say: which end of an edge, which property."""

    def __str__(self) -> str:
        row = "" if self.row_id is None else f" {self.row_id!r}"
        more = f" ({self.detail})" if self.detail else ""
        return f"{self.table_key}{row} {_WORDS[self.kind]}{more}"


@define(kw_only=True, slots=False)
class MergeConflicts(Conflict):
    """Both sides changed the same things. Nothing was merged; all conflicts are listed."""

    kind: ClassVar[str] = "merge_conflicts"
    source: str
    into: str
    conflicts: tuple[MergeConflict, ...]

    def __str__(self) -> str:
        count = len(self.conflicts)
        shown = "; ".join(str(each) for each in self.conflicts[:_SHOWN])
        more = f"; and {count - _SHOWN} more" if count > _SHOWN else ""
        named = "1 conflict" if count == 1 else f"{count} conflicts"
        return (
            f"{self.source} cannot be merged into {self.into!r}: {named}: {shown}{more}. Nothing "
            "was changed. Say with strategy= which side counts, or decide row by row with a "
            "function, or change one of the sides first."
        )
