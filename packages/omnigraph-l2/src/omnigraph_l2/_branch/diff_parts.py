"""The rows that differ in one table, in parts that other processes can read.

Invariant: the parts together are the rows of ``diff.rows``, each id in exactly one part. No row is
read to make them. Where files show that rows were only added or only removed, there are as many
parts as the rows need; otherwise there is one, because both versions of an id must be in the same
part. A part can be pickled, contains no secret, and holds no lease.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

import attrs
import pyarrow as pa

from omnigraph_l2._branch.diff_row_schema import BATCH_ROWS, one_sided, rows_schema, structs_of
from omnigraph_l2._branch.read_targets import ReadTarget, open_targets, share_table
from omnigraph_l2._catalog.catalog_state import TableEntry
from omnigraph_l2._errors.translating import translate_errors
from omnigraph_l2._rows.addressed_rows import AddressedRows
from omnigraph_l2._rows.change_candidates import by_place
from omnigraph_l2._rows.pinned_reads import is_same_pin, open_pinned, translate_read_errors
from omnigraph_l2._rows.row_alignment import Kind
from omnigraph_l2._rows.row_diff import differing
from omnigraph_l2._store.repository_root import RepositoryRoot

__all__ = ["ROWS_OF_A_PART", "DiffPart", "parts_of"]

ROWS_OF_A_PART: Final = 1_000_000


@attrs.frozen(kw_only=True)
class DiffPart:
    """Some of the rows of a table that differ. Get them from ``diff.share``."""

    table_key: str
    rows_at_most: int
    """How many rows it has at the most; known without reading them."""
    before: ReadTarget | None
    """The table as it was; None where no row of this part was there."""
    after: ReadTarget | None
    """The table as it became; None where no row of this part is there any more."""
    _fragments: tuple[int, ...] | None = None
    """Where its rows are, on the side that has them; None where both are to be compared."""
    _offset: int | None = None
    _limit: int | None = None

    @property
    def schema(self) -> pa.Schema:
        """The columns of ``rows``."""
        return rows_schema(*self._schemas())

    def rows(self, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        """Read the rows, as those of ``diff.rows``.

        With ``columns`` the rows before and after have the ``id`` and these, as far as they are
        there.
        """
        schema = rows_schema(*self._schemas(), columns)
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _schemas(self) -> tuple[pa.Schema, pa.Schema]:
        """Return the columns on both sides; where there is no table, those of the other side."""
        known = [each.schema for each in (self.before, self.after) if each is not None]
        return known[0], known[-1]

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with translate_errors():
            if self.before is None or self.after is None:
                yield from self._scan_rows(schema)
            elif self._fragments is None:
                yield from _compare_tables(self.before, self.after, schema)
            else:
                yield from _deleted_rows(self.before, self.after, self._fragments, schema)

    def _scan_rows(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        target = self.after if self.before is None else self.before
        kind = Kind.INSERT if self.before is None else Kind.DELETE
        if target is None or self._fragments is None:
            return
        read = target.scan(
            structs_of(schema)[0].names,
            fragments=self._fragments,
            offset=self._offset,
            limit=self._limit,
            batch_size=BATCH_ROWS,
        )
        for batch in read:
            yield one_sided(batch, kind, schema)


def parts_of(
    root: RepositoryRoot,
    table_key: str,
    older: TableEntry | None,
    newer: TableEntry | None,
    *,
    rows_of_a_part: int,
) -> tuple[DiffPart, ...]:
    """Find the parts; none where nothing differs."""
    if is_same_pin(older, newer):
        return ()
    with translate_read_errors(root, older, newer):
        before, after = _target(root, older), _target(root, newer)
        if older is not None and newer is not None and before is not None and after is not None:
            return _of_both(
                DiffPart(table_key=table_key, rows_at_most=0, before=before, after=after),
                root,
                (older, newer),
                rows_of_a_part,
            )
        alone = newer if older is None else older
        like = DiffPart(table_key=table_key, rows_at_most=0, before=before, after=after)
        if alone is None:
            return ()
        return tuple(
            _partition_fragments(like, open_pinned(root, alone).fragments(), rows_of_a_part)
        )


def _of_both(
    like: DiffPart, root: RepositoryRoot, entries: tuple[TableEntry, TableEntry], most: int
) -> tuple[DiffPart, ...]:
    older, newer = (open_pinned(root, each) for each in entries)
    found = by_place(older, newer)
    gone, new = _rows_in(older.fragments(), found.gone), _rows_in(newer.fragments(), found.new)
    marked = found.known.before.of_fragments()
    came = sum(new.values()) + len(found.known.after)
    went = sum(gone.values()) + sum(marked.values())
    if older.columns() != newer.columns():  # a value that only one side has may be anywhere
        return (attrs.evolve(like, rows_at_most=sum(each.row_count for each in entries)),)
    if len(found.known.after) or (came and went):
        return (attrs.evolve(like, rows_at_most=came + went),)
    inserted = _partition_fragments(attrs.evolve(like, before=None), new, most)
    deleted = _partition_fragments(attrs.evolve(like, after=None), gone, most)
    return (*inserted, *deleted, *_together(like, marked, most))


def _target(root: RepositoryRoot, entry: TableEntry | None) -> ReadTarget | None:
    if entry is None:
        return None
    return share_table(open_pinned(root, entry), table_key=entry.table_key, count=entry.row_count)


def _partition_fragments(
    like: DiffPart, fragments: Mapping[int, int], most: int
) -> Iterator[DiffPart]:
    """Group small fragments, and split large ones into ranges."""
    small = {number: rows for number, rows in fragments.items() if rows <= most}
    yield from _together(like, small, most)
    for number, rows in fragments.items():
        if rows > most:
            pieces = -(-rows // most)
            for start, end in pairwise(rows * piece // pieces for piece in range(pieces + 1)):
                yield attrs.evolve(
                    like,
                    fragments=(number,),
                    offset=start,
                    limit=end - start,
                    rows_at_most=end - start,
                )


def _together(like: DiffPart, fragments: Mapping[int, int], most: int) -> Iterator[DiffPart]:
    held: list[int] = []
    rows = 0
    for number, count in fragments.items():
        if held and rows + count > most:
            yield attrs.evolve(like, fragments=tuple(held), rows_at_most=rows)
            held, rows = [], 0
        held.append(number)
        rows += count
    if held and rows:
        yield attrs.evolve(like, fragments=tuple(held), rows_at_most=rows)


def _rows_in(fragments: Mapping[int, int], wanted: Sequence[int]) -> dict[int, int]:
    return {number: fragments[number] for number in wanted}


def _compare_tables(
    before: ReadTarget, after: ReadTarget, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    older, newer = (struct.names for struct in structs_of(schema))
    with open_targets(before, after) as tables:
        for part in differing(*tables):
            columns = [part.kinds(), part.ids, *part.structs(older, newer)]
            rows = pa.Table.from_arrays(columns, schema=schema)
            yield from rows.to_batches(max_chunksize=BATCH_ROWS)


def _deleted_rows(
    before: ReadTarget, after: ReadTarget, fragments: Sequence[int], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Return the rows of some fragments that were deleted, where nothing else was done."""
    with open_targets(before, after) as (older, newer):
        gone: AddressedRows = by_place(older, newer, within=set(fragments)).known.before
        for batch in gone.batches(structs_of(schema)[0].names):
            for start in range(0, len(batch), BATCH_ROWS):
                yield one_sided(batch.slice(start, BATCH_ROWS), Kind.DELETE, schema)
