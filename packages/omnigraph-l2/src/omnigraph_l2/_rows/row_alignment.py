"""Align two sets of rows by id, and determine what happened to each id. Pure.

Invariant: ids come out sorted, each once; rows that are equal are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l2._rows.value_equality import same_rows

__all__ = ["Aligned", "Kind", "align"]


class Kind(Enum):
    """What happened to a row."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


@attrs.frozen(eq=False)
class Aligned:
    """Ids whose rows differ, and the positions of their rows in the two tables."""

    ids: pa.Array
    before: pa.Table
    after: pa.Table
    _in_before: pa.Array
    _in_after: pa.Array

    def kinds(self) -> pa.Array:
        """Return what happened to each id, as text."""
        inserted = pc.is_null(self._in_before)
        deleted = pc.is_null(self._in_after)
        return pc.case_when(
            pc.make_struct(inserted, deleted),
            Kind.INSERT.value,
            Kind.DELETE.value,
            Kind.UPDATE.value,
        )

    def count(self, kind: Kind) -> int:
        """Return the number of ids to which this happened."""
        inserted, deleted = self._in_before.null_count, self._in_after.null_count
        match kind:
            case Kind.INSERT:
                return int(inserted)
            case Kind.DELETE:
                return int(deleted)
            case Kind.UPDATE:
                return len(self.ids) - int(inserted) - int(deleted)

    def structs(
        self, before: Sequence[str] | None = None, after: Sequence[str] | None = None
    ) -> tuple[pa.StructArray, pa.StructArray]:
        """Return the rows before and after, as structs of all or of some columns.

        Null where there is no row.
        """
        older = self.before if before is None else self.before.select(before)
        newer = self.after if after is None else self.after.select(after)
        return _struct(older, self._in_before), _struct(newer, self._in_after)


def align(before: pa.Table, after: pa.Table) -> Aligned:
    """Align rows by id. Each id occurs at most once on each side."""
    mine, theirs = (table.column("id").combine_chunks() for table in (before, after))
    ids = pc.unique(pa.chunked_array([mine, theirs], pa.string()))
    ids = ids.take(pc.sort_indices(ids))
    in_before, in_after = (pc.index_in(ids, value_set=each) for each in (mine, theirs))
    differs = ~_same(before, after, in_before, in_after)
    chosen = pa.array(np.flatnonzero(differs))
    return Aligned(ids.take(chosen), before, after, in_before.take(chosen), in_after.take(chosen))


def _same(
    before: pa.Table, after: pa.Table, in_before: pa.Array, in_after: pa.Array
) -> npt.NDArray[np.bool_]:
    same = np.zeros(len(in_before), dtype=np.bool_)
    both = pc.and_(pc.is_valid(in_before), pc.is_valid(in_after))
    where = np.flatnonzero(both.to_numpy(zero_copy_only=False))
    if len(where):
        same[where] = same_rows(
            before.take(in_before.filter(both)), after.take(in_after.filter(both))
        )
    return same


def _struct(table: pa.Table, places: pa.Array) -> pa.StructArray:
    taken = table.take(places)
    fields = [field.with_nullable(True) for field in table.schema]
    columns = [column.combine_chunks() for column in taken.columns]
    return pa.StructArray.from_arrays(columns, fields=fields, mask=pc.is_null(places))
