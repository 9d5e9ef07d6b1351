"""Rows of one table that other processes update, add and delete for a transaction.

Invariant: a target can be pickled and contains no secret. What it writes is invisible until the
transaction that it came from accepts it and commits. Memory is bounded, because rows wait on disk.
A row address that comes with a row is used only if that row has the same id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l1 import Table, WrittenChanges
from omnigraph_l1 import WriteTarget as TableTarget
from omnigraph_l1.batch_groups import group_parts
from omnigraph_l1.row_addresses import ADDRESS
from omnigraph_l2._errors.translating import translate_table_errors
from omnigraph_l2._model.argument_checks import listed_ids
from omnigraph_l2._rows.addressed_rows import AddressedRows
from omnigraph_l2._rows.data_problems import translate_data_errors
from omnigraph_l2._rows.incoming_rows import incoming
from omnigraph_l2._rows.spill_file import Spool
from omnigraph_l2.errors import DataProblem, InvalidData, InvalidRequest

__all__ = ["ADDRESS", "ChangeTarget", "StagedChange"]

_ROW_ID: Final = "_rowid"
_PLACE: Final = pa.field(ADDRESS, pa.uint64())
_KEPT_ID: Final = pa.field(_ROW_ID, pa.uint64())
_BY_INDEX: Final = 2_000
_ROWS_AT_ONCE: Final = 262_144
_BYTES_AT_ONCE: Final = 32 * 1024 * 1024
_SHOWN: Final = 10


@attrs.frozen(kw_only=True)
class StagedChange:
    """What one writer changed, to be sent to the transaction."""

    table_key: str
    written: WrittenChanges = attrs.field(repr=False)
    staged_for: str | None = attrs.field(default=None, repr=False)
    """The commit of the transaction for which it was written."""

    @property
    def rows_updated(self) -> int:
        """How many rows were there before."""
        return self.written.rows_updated

    @property
    def rows_inserted(self) -> int:
        """How many rows are new."""
        return self.written.rows_inserted

    @property
    def rows_deleted(self) -> int:
        """How many rows are deleted."""
        return self.written.rows_deleted

    @property
    def size_bytes(self) -> int:
        """How large the files of rows are."""
        return self.written.size_bytes


@attrs.frozen(kw_only=True)
class ChangeTarget:
    """Where another process may change rows of one table, as they are at one version.

    Rows may come with the column ``_rowaddr``, as ``locate`` or a scan of that version gives it:
    then they are not looked up again, and where it is null they are new.
    """

    table_key: str
    target: TableTarget = attrs.field(repr=False)
    schema: pa.Schema = attrs.field(repr=False)
    """The columns that rows may have."""
    staged_for: str | None = attrs.field(default=None, repr=False)
    """The commit of the transaction that takes them."""

    @property
    def table_version(self) -> int:
        """The version of the table that is changed."""
        return self.target.version

    def check(self, columns: pa.Schema) -> None:
        """Raise ``InvalidData`` with every problem that rows with these columns would have."""
        with translate_data_errors(self.table_key):
            incoming(
                columns.empty_table(),
                self.schema.append(_PLACE),
                what=self.table_key,
                may_lack_nullable=True,
            )

    def locate(self, ids: Iterable[str]) -> pa.Table:
        """Return ``id`` and ``_rowaddr`` of the rows that exist with these ids."""
        wanted = pa.array(listed_ids(self.table_key, ids), pa.string())
        with translate_table_errors(self.table_key):
            return _locate(Table.at_target(self.target), wanted.unique())

    def upsert(self, data: Any) -> StagedChange:
        """Replace rows by id and add the others, without publishing them.

        A nullable column that is not given is kept. Send what this gives back to the transaction.
        """
        with translate_data_errors(self.table_key), translate_table_errors(self.table_key):
            wanted = self.schema.append(_PLACE)
            coming = incoming(data, wanted, what=self.table_key, may_lack_nullable=True)
            writer = _ChangeWriter(self.table_key, Table.at_target(self.target))
            with Spool(
                writer.spooled, writer.merge_rows(_concat_batches(coming, coming.schema))
            ) as rows:
                return self._write(writer, rows)

    def delete(self, ids: Any) -> StagedChange:
        """Delete the rows with these ids, if they exist, without publishing that.

        ``ids`` are texts, or Arrow data with the column ``id``.
        """
        columns = pa.schema([self.schema.field("id"), _PLACE])
        if not hasattr(ids, "__arrow_c_stream__"):
            listed = listed_ids(self.table_key, ids)
            ids = pa.table({"id": pa.array(listed, pa.string())})
        with translate_data_errors(self.table_key), translate_table_errors(self.table_key):
            coming = incoming(ids, columns, what=self.table_key, may_lack_nullable=True)
            writer = _ChangeWriter(self.table_key, Table.at_target(self.target))
            for chunk in _concat_batches(coming, coming.schema):
                writer.remove(chunk)
            with Spool(writer.spooled, ()) as nothing:
                return self._write(writer, nothing)

    def _write(self, writer: _ChangeWriter, rows: Spool) -> StagedChange:
        kept = [batch.column(_ROW_ID).drop_null().to_numpy() for batch in rows]
        written = writer.table.write_changes(
            updated=_half(rows, self.schema, new=False),
            row_ids=pa.array(np.concatenate([np.zeros(0, np.uint64), *kept])),
            inserted=_half(rows, self.schema, new=True),
            addresses=writer.taken,
        )
        return StagedChange(table_key=self.table_key, written=written, staged_for=self.staged_for)


class _ChangeWriter:
    """Collects what one caller changes in a table, by the addresses of its rows."""

    def __init__(self, key: str, table: Table) -> None:
        self.key = key
        self.table = table
        self.spooled = table.schema.append(_KEPT_ID)
        self._marked = AddressedRows(table)
        self._taken: list[Any] = [np.zeros(0, np.uint64)]

    @property
    def taken(self) -> Any:
        """The addresses of the rows that are removed."""
        return np.concatenate(self._taken)

    def merge_rows(self, chunks: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
        """Return the merged rows, with the id of the row that each replaces, if any."""
        for chunk in chunks:
            located = self._with_addresses(chunk)
            there = located.filter(located[ADDRESS].is_valid()).sort_by(ADDRESS)
            lacking = [name for name in self.table.schema.names if name not in chunk.schema.names]
            before = self._at(there, lacking)
            self._take(there["id"], there[ADDRESS])
            for name in (*lacking, _ROW_ID):
                there = there.append_column(before.schema.field(name), before[name])
            yield from self._as_spooled(there.sort_by(_ROW_ID))
            yield from self._as_spooled(located.filter(located[ADDRESS].is_null()))

    def remove(self, chunk: pa.Table) -> None:
        """Remove the rows with these ids."""
        located = self._with_addresses(chunk)
        there = located.filter(located[ADDRESS].is_valid())
        once = there.group_by(["id", ADDRESS]).aggregate([]).sort_by(ADDRESS)
        once = once.filter(pa.array(~self._marked.holds(once[ADDRESS].to_numpy())))
        self._at(once, [])
        self._take(once["id"], once[ADDRESS])

    def _with_addresses(self, chunk: pa.Table) -> pa.Table:
        if ADDRESS in chunk.schema.names:
            return chunk
        found = _locate(self.table, chunk["id"].combine_chunks().unique())
        positions = pc.index_in(chunk["id"], value_set=found["id"].combine_chunks())
        return chunk.append_column(_PLACE, found[ADDRESS].combine_chunks().take(positions))

    def _at(self, there: pa.Table, lacking: Sequence[str]) -> pa.Table:
        """Read the rows at addresses, in their order; raise if one is another row."""
        rows = AddressedRows(self.table)
        rows.add(there[ADDRESS].to_numpy())
        columns = [*dict.fromkeys(["id", *lacking]), _ROW_ID, ADDRESS]
        fields = [self.table.schema.field(name) for name in columns[:-2]]
        schema = pa.schema([*fields, _KEPT_ID, _PLACE])
        parts = [batch.cast(schema) for batch in rows.batches(columns)]
        found = pa.Table.from_batches(parts, schema).sort_by(ADDRESS)
        if len(found) == len(there) and found["id"].equals(there["id"]):
            return found
        self._refuse_repeated(there["id"])
        reason = (
            f"their row addresses are those of other rows in version {self.table.version}. Take "
            "the addresses from a scan of that version"
        )
        raise InvalidRequest(what=f"rows of {self.key}", reason=reason)

    def _take(self, ids: pa.ChunkedArray, addresses: pa.ChunkedArray) -> None:
        places = addresses.to_numpy()
        again = self._marked.holds(places)
        if again.any():
            self._refuse_duplicates(ids.filter(pa.array(again)))
        self._refuse_repeated(ids)
        self._marked.add(places)
        self._taken.append(places)

    def _refuse_repeated(self, ids: pa.ChunkedArray) -> None:
        counted = pc.value_counts(ids)
        twice = counted.filter(pc.greater(counted.field("counts"), 1)).field("values")
        if len(twice):
            self._refuse_duplicates(twice)

    def _refuse_duplicates(self, ids: Any) -> None:
        shown = ", ".join(map(repr, ids.slice(0, _SHOWN).to_pylist()))
        problem = DataProblem("id", f"stands more than once with {shown}")
        raise InvalidData(table_key=self.key, problems=(problem,))

    def _as_spooled(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        columns = [
            rows[field.name]
            if field.name in rows.schema.names
            else pa.chunked_array([pa.nulls(len(rows), field.type)])
            for field in self.spooled
        ]
        yield from pa.Table.from_arrays(columns, schema=self.spooled).to_batches()


def _locate(table: Table, ids: pa.Array) -> pa.Table:
    """Look up row addresses: through the index, or in one pass over the ids."""
    columns = ["id", ADDRESS]
    indexed = any(info.columns == ("id",) for info in table.indexes().values())
    if len(ids) <= _BY_INDEX and indexed:
        return table.find("id", ids, columns=columns)
    scanned = table.scan(columns=columns)
    gathered = _concat_batches(scanned, scanned.schema)
    parts = [some.filter(pc.is_in(some["id"], value_set=ids)) for some in gathered]
    return pa.concat_tables([scanned.schema.empty_table(), *parts])


def _half(rows: Spool, schema: pa.Schema, *, new: bool) -> pa.RecordBatchReader:
    """Read the rows that are new, or those that are not."""

    def chosen() -> Iterator[pa.RecordBatch]:
        for batch in rows:
            is_new = batch.column(_ROW_ID).is_null()
            part = batch.filter(is_new if new else pc.invert(is_new))
            if len(part):
                yield part.select(schema.names).cast(schema)

    return pa.RecordBatchReader.from_batches(schema, chosen())


def _concat_batches(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.Table]:
    """Concatenate batches: each lookup reads or hashes all rows, so that few batches cost less."""
    for group in group_parts(batches, rows=_ROWS_AT_ONCE, size=_BYTES_AT_ONCE):
        yield pa.Table.from_batches(group, schema)
