"""Some rows of one table, looked at in as many versions of it as a merge asks for.

Always: within one look, two rows of an id have the same number if and only if they are equal in
the columns that are looked at. A property that a version does not have, or has with another type,
counts as null. A version is read once. A value that Python does not have is told as text.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l2._catalog.state import TableEntry
from omnigraph_l2._comparing import rows_at, same_rows
from omnigraph_l2._merging.rule import ABSENT, Numbers
from omnigraph_l2._storage import Root

__all__ = ["Look"]

_NANOSECONDS: Final = 1_000
"""Python's times have microseconds."""


class Look:
    """A look at some rows."""

    def __init__(self, root: Root, ids: pa.Array, columns: pa.Schema) -> None:
        self.ids = ids
        self._root = root
        self._columns = columns
        self._versions: dict[TableEntry, Numbers] = {}
        self._read: list[tuple[pa.Table, Numbers]] = []

    def numbers(self, entry: TableEntry | None) -> Numbers:
        """Give the numbers of the rows in a version; None is a version without the table."""
        if entry is None:
            return np.full(len(self.ids), ABSENT, np.int32)
        known = self._versions.get(entry)
        if known is None:
            known = self._versions[entry] = self._numbered(entry)
        return known

    def rows(self, numbers: Numbers) -> pa.Table:
        """Give the rows that have these numbers; those that have none are left out."""
        parts = []
        for version, (rows, places) in enumerate(self._read):
            chosen = numbers == version
            if chosen.any():
                parts.append(rows.take(pa.array(places[chosen])))
        return pa.concat_tables(parts) if parts else self._columns.empty_table()

    def row(self, numbers: Numbers, position: int) -> dict[str, Any] | None:
        """Give one row; None where it is not there, or not known."""
        version = int(numbers[position])
        if version < 0:
            return None
        rows, places = self._read[version]
        place = int(places[position])
        return {name: _told(rows.column(name)[place]) for name in rows.column_names}

    def _numbered(self, entry: TableEntry) -> Numbers:
        rows = self._fitted(rows_at(self._root, entry, self.ids))
        found = pc.index_in(self.ids, value_set=rows.column("id").combine_chunks())
        places = found.fill_null(ABSENT).to_numpy().astype(np.int32)
        version = len(self._read)
        numbers = np.where(places == ABSENT, ABSENT, version).astype(np.int32)
        for earlier, (others, elsewhere) in enumerate(self._read):
            both = np.flatnonzero((numbers == version) & (elsewhere != ABSENT))
            if len(both):
                same = same_rows(
                    others.take(pa.array(elsewhere[both])), rows.take(pa.array(places[both]))
                )
                numbers[both[same]] = earlier
        self._read.append((rows, places))
        return numbers

    def _fitted(self, rows: pa.Table) -> pa.Table:
        columns = []
        for field in self._columns:
            there = field.name in rows.schema.names
            if there and rows.schema.field(field.name).type == field.type:
                columns.append(rows.column(field.name))
            else:
                columns.append(pa.nulls(rows.num_rows, field.type))
        return pa.table(columns, schema=self._columns)


def _told(value: pa.Scalar) -> Any:
    """Give a value as Python has it, or as text: a day of the year 30000, a nanosecond."""
    try:
        told = value.as_py()
    except (OverflowError, ValueError):
        if pa.types.is_nested(value.type):
            return pa.array([value]).to_string()
    else:
        if value.type != pa.time64("ns") or told is None or value.value % _NANOSECONDS == 0:
            return told
    return value.cast(pa.string()).as_py()
