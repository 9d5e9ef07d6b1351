"""Which of some values a column has: from known files, by an index, or by a scan.

Invariant: the answer is exact. It costs look-ups in an index or one pass over one column, and
nothing for small files that this process wrote or has read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l1 import FragmentFiles, Table
from omnigraph_l1.batch_groups import group_parts
from omnigraph_l2._store.repository_root import KnownIds

__all__ = ["IdLookup", "concat_parts", "missing", "present"]

_BY_INDEX = 2_000
_SMALL_FRAGMENT = 8_192
_MOST_BYTES = 16 * 1024 * 1024


@attrs.frozen
class IdLookup:
    """Looks up ids in a table."""

    _known: KnownIds

    def present(self, table: Table, values: pa.Array) -> pa.Array:
        """Return those of the ids that the table has."""
        rows = table.fragments()
        small = {number for number, count in rows.items() if count <= _SMALL_FRAGMENT}
        large = rows.keys() - small
        found, doubtful = self._in_small(table, small, values)
        if len(doubtful):
            found.append(present(table, "id", doubtful))
        if large:
            found.append(present(table, "id", values, large))
        return pc.unique(pa.chunked_array(found, values.type))

    def missing(self, table: Table, values: pa.Array) -> pa.Array:
        """Return those of the ids that the table lacks."""
        found = self.present(table, values)
        return values.filter(pc.invert(pc.is_in(values, value_set=found)))

    def remember(self, before: Table, after: Table, ids: pa.Array) -> None:
        """Remember the ids that a commit wrote into one new file."""
        files = after.fragment_files()
        known = before.fragments()
        new = [each for number, each in files.items() if number not in known]
        if len(new) == 1:
            self._known.put(str(after.location), new[0].data[0], ids)

    def _in_small(
        self, table: Table, small: Collection[int], values: pa.Array
    ) -> tuple[list[pa.Array], pa.Array]:
        """Return the ids that certainly exist, and those that may have been deleted."""
        files, location = table.fragment_files(), str(table.location)
        sure: list[pa.Array] = []
        doubtful: list[pa.Array] = []
        unknown = []
        for number in small:
            ids = self._known.get(location, files[number].data[0])
            if ids is None:
                unknown.append(number)
            else:
                hits = values.filter(pc.is_in(values, value_set=ids))
                (doubtful if files[number].has_deletions else sure).append(hits)
        if unknown:
            sure.append(self._read(table, unknown, files, values))
        return sure, pc.unique(pa.chunked_array(doubtful, values.type))

    def _read(
        self,
        table: Table,
        unknown: Collection[int],
        files: Mapping[int, FragmentFiles],
        values: pa.Array,
    ) -> pa.Array:
        """Read the ids of some fragments, all at once, and remember those that are whole."""
        ids = table.read(columns=["id"], fragments=unknown).column(0).combine_chunks()
        start = 0
        for number, count in table.fragments().items():
            if number in unknown:
                if not files[number].has_deletions:
                    part = ids.slice(start, count)
                    self._known.put(str(table.location), files[number].data[0], part)
                start += count
        return values.filter(pc.is_in(values, value_set=ids))


def present(
    table: Table, column: str, values: pa.Array, fragments: Collection[int] | None = None
) -> pa.Array:
    """Return those of the values that a column has, in some fragments or in all."""
    if len(values) <= _BY_INDEX and _is_indexed(table, column):
        found = table.find(column, values.to_pylist(), columns=[column], fragments=fragments)
        return pc.unique(found.column(0))
    scanned = table.scan(columns=[column], fragments=fragments)
    parts = [
        pc.unique(some.filter(pc.is_in(some, value_set=values)))
        for some in concat_parts((batch.column(0) for batch in scanned), len(values))
    ]
    return pc.unique(pa.chunked_array(parts, values.type))


def concat_parts(parts: Iterable[pa.Array], rows: int) -> Iterator[pa.Array]:
    """Concatenate parts: each lookup hashes all values, so that few large parts cost less."""
    return map(pa.concat_arrays, group_parts(parts, rows=rows, size=_MOST_BYTES))


def missing(table: Table, column: str, values: pa.Array) -> pa.Array:
    """Return those of the values that a column lacks."""
    found = present(table, column, values)
    return values.filter(pc.invert(pc.is_in(values, value_set=found)))


def _is_indexed(table: Table, column: str) -> bool:
    return any(info.columns == (column,) for info in table.indexes().values())
