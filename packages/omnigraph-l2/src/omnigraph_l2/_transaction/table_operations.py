"""Changes of one table, as values that can be applied again.

Invariant: an operation holds all that it takes to apply it on another version of the table, so that
a retry does not need the user's data again. Its files are written once.
"""

from __future__ import annotations

from typing import Protocol

import attrs

from omnigraph_l1 import Staged, Table, WrittenChanges, WrittenFragments
from omnigraph_l2._rows.id_set import IdSet
from omnigraph_l2._rows.spill_file import Spool

__all__ = [
    "Append",
    "Changed",
    "DeleteIds",
    "DeleteWhere",
    "Operation",
    "Overwrite",
    "Upsert",
]


class Operation(Protocol):
    """One change of one table."""

    @property
    def fits_any_base(self) -> bool:
        """Whether it means the same on a later version of the table."""

    def stage(self, on: Table) -> Staged:
        """Compute it on a version."""

    def close(self) -> None:
        """Release temporary files."""


@attrs.frozen(kw_only=True)
class Append:
    """Add rows that are written already."""

    written: tuple[WrittenFragments, ...]
    ids: IdSet | None
    """The ids of the rows; None where others wrote them, and they have to be read."""
    ends: tuple[IdSet, IdSet] | None = None
    checked_at: int | None = None
    """The version of the graph at which the caller has checked them itself."""
    fits_any_base: bool = attrs.field(default=True, init=False)

    def stage(self, on: Table) -> Staged:
        """Add them."""
        return on.stage_written(self.written)

    def close(self) -> None:
        """Let go of ids."""
        _close(self.ids, *(self.ends or ()))


@attrs.frozen(kw_only=True)
class Overwrite:
    """Replace all rows by rows that are written already."""

    written: tuple[WrittenFragments, ...]
    ids: IdSet | None
    ends: tuple[IdSet, IdSet] | None = None
    checked_at: int | None = None
    fits_any_base: bool = attrs.field(default=False, init=False)

    def stage(self, on: Table) -> Staged:
        """Replace all."""
        return on.stage_written(self.written, replace_all=True)

    def close(self) -> None:
        """Let go of ids."""
        _close(self.ids, *(self.ends or ()))


@attrs.frozen(kw_only=True)
class Upsert:
    """Replace rows by id, and add the others."""

    rows: Spool
    ends: tuple[IdSet, IdSet] | None = None
    fits_any_base: bool = attrs.field(default=True, init=False)

    def stage(self, on: Table) -> Staged:
        """Match by id."""
        return on.stage_upsert(self.rows.reader(), "id")

    def close(self) -> None:
        """Let go of rows and ids."""
        _close(self.rows, *(self.ends or ()))


@attrs.frozen(kw_only=True)
class DeleteWhere:
    """Delete the rows that a filter matches."""

    predicate: str
    fits_any_base: bool = attrs.field(default=False, init=False)

    def stage(self, on: Table) -> Staged:
        """Find and mark them."""
        return on.stage_delete(self.predicate)

    def close(self) -> None:
        """Nothing is kept."""


@attrs.frozen(kw_only=True)
class DeleteIds:
    """Delete the rows with these ids, where they are there."""

    ids: tuple[str, ...]
    fits_any_base: bool = attrs.field(default=True, init=False)

    def stage(self, on: Table) -> Staged:
        """Find and mark them."""
        return on.stage_delete_keys("id", self.ids)

    def close(self) -> None:
        """Nothing is kept."""


@attrs.frozen(kw_only=True)
class Changed:
    """Change rows by files that others have written already."""

    written: tuple[WrittenChanges, ...]
    checked_at: int | None = None
    fits_any_base: bool = attrs.field(default=True, init=False)

    @property
    def updated_files(self) -> frozenset[str]:
        """The files of updated rows."""
        return frozenset[str]().union(*(part.updated_files for part in self.written))

    def stage(self, on: Table) -> Staged:
        """Apply the staged change."""
        return on.stage_changed(self.written, key="id")

    def close(self) -> None:
        """Nothing is kept."""


def _close(*kept: IdSet | Spool | None) -> None:
    for each in kept:
        if each is not None:
            each.close()
