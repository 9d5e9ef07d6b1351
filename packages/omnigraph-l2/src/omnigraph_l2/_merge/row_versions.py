"""Some rows of one table, read in the versions of it that a merge compares.

Invariant: within one instance, two rows of an id have the same number if and only if they are equal
in the compared columns. A property that a version does not have, or has with another type, counts
as null. Each version is read once. A value that Python cannot represent is given as text.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l2._catalog.catalog_state import TableEntry
from omnigraph_l2._merge.three_way import ABSENT, Numbers
from omnigraph_l2._rows.pinned_reads import rows_at
from omnigraph_l2._rows.value_equality import same_rows
from omnigraph_l2._store.repository_root import RepositoryRoot

__all__ = ["RowVersions"]

_NANOSECONDS: Final = 1_000
"""Python's times have microseconds."""


class RowVersions:
    """Some rows of a table, as numbers that can be compared between versions."""

    def __init__(self, root: RepositoryRoot, ids: pa.Array, columns: pa.Schema) -> None:
        self.ids = ids
        self._root = root
        self._columns = columns
        self._versions: dict[TableEntry, Numbers] = {}
        self._read: list[tuple[pa.Table, Numbers]] = []

    def numbers(self, entry: TableEntry | None) -> Numbers:
        """Return the numbers of the rows in a version; None is a version without the table."""
        if entry is None:
            return np.full(len(self.ids), ABSENT, np.int32)
        known = self._versions.get(entry)
        if known is None:
            known = self._versions[entry] = self._number(entry)
        return known

    def rows(self, numbers: Numbers) -> pa.Table:
        """Return the rows that have these numbers; those that have none are left out."""
        parts = []
        for version, (rows, places) in enumerate(self._read):
            chosen = numbers == version
            if chosen.any():
                parts.append(rows.take(pa.array(places[chosen])))
        return pa.concat_tables(parts) if parts else self._columns.empty_table()

    def row(self, numbers: Numbers, position: int) -> dict[str, Any] | None:
        """Return one row; None where it is not there, or not known."""
        version = int(numbers[position])
        if version < 0:
            return None
        rows, places = self._read[version]
        location = int(places[position])
        return {name: _to_python(rows.column(name)[location]) for name in rows.column_names}

    def _number(self, entry: TableEntry) -> Numbers:
        rows = self._fit(rows_at(self._root, entry, self.ids))
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

    def _fit(self, rows: pa.Table) -> pa.Table:
        columns = []
        for field in self._columns:
            there = field.name in rows.schema.names
            if there and rows.schema.field(field.name).type == field.type:
                columns.append(rows.column(field.name))
            else:
                columns.append(pa.nulls(rows.num_rows, field.type))
        return pa.table(columns, schema=self._columns)


def _to_python(value: pa.Scalar) -> Any:
    """Return a value as Python has it, or as text: a day of the year 30000, a nanosecond."""
    try:
        converted = value.as_py()
    except (OverflowError, ValueError):
        if pa.types.is_nested(value.type):
            return pa.array([value]).to_string()
    else:
        if value.type != pa.time64("ns") or converted is None:
            return converted
        if value.value % _NANOSECONDS == 0:
            return converted
    return value.cast(pa.string()).as_py()
