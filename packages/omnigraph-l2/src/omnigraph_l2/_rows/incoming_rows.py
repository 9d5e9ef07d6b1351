"""Incoming rows: Arrow data, mappings or data frames, as batches of the table's schema.

Rows may come as anything that is Arrow data, as mappings of column names to Python values, or as a
frame of pandas. Pandas is never imported here. In a frame, all that pandas takes for missing (NaN,
NaT, NA, None) is null; a named index is a column, an unnamed one is dropped; columns of Python
objects are read value by value, as mappings are. Where columns may be missing, the first mapping
decides which columns there are, and a later one with other columns is a problem, because a missing
value could mean null. Elsewhere a missing column is null.

Invariant: no value is changed. What cannot be cast without loss is reported in ``DataProblems``,
which carries every problem: those of the columns before a row is read, those of the rows of a
stream batch by batch, those of data in memory all at once. A source yields ``None`` where the
problems so far must be reported. Memory does not grow with the data. An error that the user's own
reader raises is not changed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Protocol

import pyarrow as pa

from omnigraph_l2._rows.batch_slices import MAX_BYTES, Pace, halve, pieces
from omnigraph_l2._rows.cast_rules import type_obstacles
from omnigraph_l2._rows.data_problems import Findings, id_columns, refuse_bad_ids, short
from omnigraph_l2._rows.lossless_casts import cast_column
from omnigraph_l2._rows.python_values import python_column

__all__ = [
    "ArrowSource",
    "FrameSource",
    "Incoming",
    "RowSource",
    "Source",
    "arrow_source",
    "check_columns",
    "frame_source",
    "incoming",
    "narrow_schema",
]


class Source(Protocol):
    """Data of a user."""

    def prepare(self, wanted: pa.Schema, findings: Findings, *, may_lack: bool) -> pa.Schema:
        """Note what is wrong with the columns, and return the columns that will come."""

    def batches(
        self, schema: pa.Schema, findings: Findings, most: int
    ) -> Iterator[pa.RecordBatch | None]:
        """Return the rows, once, noting what is wrong with them."""


class ArrowSource:
    """Data that is already Arrow."""

    def __init__(
        self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], *, in_memory: bool
    ) -> None:
        self._schema = schema
        self._batches = batches
        self._in_memory = in_memory

    def prepare(self, wanted: pa.Schema, findings: Findings, *, may_lack: bool) -> pa.Schema:
        """Compare the schemas."""
        check_columns(self._schema.names, wanted, findings)
        for name in dict.fromkeys(self._schema.names):
            if self._schema.names.count(name) == 1 and name in wanted.names:
                found, needed = self._schema.field(name).type, wanted.field(name).type
                if found != needed:
                    for path, reason in type_obstacles(name, found, needed):
                        findings.add(path, reason)
        return narrow_schema(wanted, self._schema.names) if may_lack else wanted

    def batches(
        self, schema: pa.Schema, findings: Findings, most: int
    ) -> Iterator[pa.RecordBatch | None]:
        """Turn each batch, piece by piece."""
        first_row = 0
        for batch in self._batches:
            for piece in pieces(batch, schema, most):
                columns = [
                    cast_column(piece.column(field.name), field, findings, first_row)
                    if field.name in self._schema.names
                    else pa.nulls(len(piece), field.type)
                    for field in schema
                ]
                first_row += len(piece)
                yield pa.RecordBatch.from_arrays(columns, schema=schema)
            if not self._in_memory:
                yield None


def arrow_source(data: Any) -> ArrowSource | None:
    """Return a source for data that is Arrow or can be exported as Arrow."""
    if isinstance(data, pa.RecordBatchReader):
        return ArrowSource(data.schema, data, in_memory=False)
    if isinstance(data, pa.Table):
        return ArrowSource(data.schema, data.to_reader(), in_memory=True)
    if isinstance(data, pa.RecordBatch):
        return ArrowSource(data.schema, [data], in_memory=True)
    if hasattr(data, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(data)
        return ArrowSource(reader.schema, reader, in_memory=False)
    if hasattr(data, "__arrow_c_array__"):
        batch = pa.record_batch(data)
        return ArrowSource(batch.schema, [batch], in_memory=True)
    return None


def check_columns(names: list[Any], wanted: pa.Schema, findings: Findings) -> None:
    """Note columns that occur twice, are unknown, or are missing and may not be null."""
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            findings.add(str(name), "stands more than once in the data")
        if name not in wanted.names:
            known = ", ".join(map(repr, wanted.names))
            findings.add(str(name), f"is no column of {findings.what}, which has {known}")
    for field in wanted:
        if field.name not in names and not field.nullable:
            findings.add(field.name, "is missing, and may not be null")


def narrow_schema(wanted: pa.Schema, names: Iterable[Any]) -> pa.Schema:
    """Leave out nullable columns that the data lacks."""
    present = set(names)
    fields = [field for field in wanted if field.name in present or not field.nullable]
    return pa.schema(fields, metadata=wanted.metadata)


Row = Mapping[Any, Any]


class RowSource:
    """Mappings, read some at a time."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._in_memory = isinstance(rows, Sequence)
        self._rows = iter(rows)
        self._wanted: frozenset[str] = frozenset()
        self._first_decides = False

    def prepare(self, wanted: pa.Schema, findings: Findings, *, may_lack: bool) -> pa.Schema:
        """Check the first row, if it decides which columns come."""
        del findings  # that a column is missing shows only in the rows
        self._wanted = frozenset(wanted.names)
        first = list(islice(self._rows, 1)) if may_lack else []
        self._rows = chain(first, self._rows)
        if first and isinstance(first[0], Mapping):
            self._first_decides = True
            return narrow_schema(wanted, first[0])
        return wanted

    def batches(
        self, schema: pa.Schema, findings: Findings, most: int
    ) -> Iterator[pa.RecordBatch | None]:
        """Convert as many rows at a time as their size allows."""
        pace, first_row = Pace(most), 0
        while rows := list(islice(self._rows, pace.rows)):
            if self._all_are_mappings(rows, findings, first_row):
                self._check_names(rows, schema, findings, first_row)
                batch = _batch(rows, schema, findings, first_row)
                pace.record(len(rows), batch.nbytes)
                yield batch
            first_row += len(rows)
            if not self._in_memory:
                yield None

    def _all_are_mappings(self, rows: list[Any], findings: Findings, first_row: int) -> bool:
        if all(issubclass(kind, Mapping) for kind in set(map(type, rows))):
            return True
        for row, value in enumerate(rows, start=first_row):
            if not isinstance(value, Mapping):
                found = f"{type(value).__name__} {short(value)}"
                findings.add("*", f"should be a mapping of column names, found {found}", row)
        return False

    def _check_names(
        self, rows: list[Row], schema: pa.Schema, findings: Findings, first_row: int
    ) -> None:
        known = set(schema.names)
        for name in sorted(set().union(*rows) - known, key=str):
            here = next(index for index, row in enumerate(rows) if name in row)
            reason = f"is no column of {findings.what}, which has {_column_names(schema)}"
            if name in self._wanted:
                reason = "is not in the first row: give it in each row, None for null, or in none"
            findings.add(str(name), reason, first_row + here)
        for field in schema if self._first_decides else ():
            for index, row in enumerate(rows):
                if field.nullable and field.name not in row:
                    reason = "is missing, and is in the first row: give None for null"
                    findings.add(field.name, reason, first_row + index)


def _column_names(schema: pa.Schema) -> str:
    return ", ".join(map(repr, schema.names))


def _batch(
    rows: list[Row], schema: pa.Schema, findings: Findings, first_row: int
) -> pa.RecordBatch:
    columns = [
        python_column(
            [row.get(field.name) for row in rows], field, findings, lambda i: first_row + i
        )
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def frame_source(data: Any) -> FrameSource | None:
    """Return a source for a frame of pandas, if the data is one."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(data, pandas.DataFrame):
        return None
    named = [level for level in data.index.names if level is not None]
    return FrameSource(data.reset_index(level=named, allow_duplicates=True) if named else data)


class FrameSource:
    """A frame, read some rows at a time."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._names = list(frame.columns)

    def prepare(self, wanted: pa.Schema, findings: Findings, *, may_lack: bool) -> pa.Schema:
        """Compare the columns, and the types of those that have one."""
        check_columns(self._names, wanted, findings)
        for position, name in enumerate(self._names):
            column = self._frame.iloc[:, position]
            if name in wanted.names and column.dtype != object:
                self._check_type(column, wanted.field(name), findings)
        return narrow_schema(wanted, self._names) if may_lack else wanted

    def batches(
        self, schema: pa.Schema, findings: Findings, most: int
    ) -> Iterator[pa.RecordBatch | None]:
        """Convert as many rows at a time as their size allows."""
        pace, start = Pace(most), 0
        while start < len(self._frame):
            part = self._frame.iloc[start : start + pace.rows]
            columns = [self._column(part, field, findings, start) for field in schema]
            batch = pa.RecordBatch.from_arrays(columns, schema=schema)
            start += len(part)
            pace.record(len(part), batch.nbytes)
            yield batch

    def _check_type(self, column: Any, field: pa.Field, findings: Findings) -> None:
        try:
            found = _arrow(column.iloc[:0]).type
        except (pa.ArrowException, TypeError, ValueError):
            reason = f"should be {field.type}, found {column.dtype}, which Arrow does not have"
            findings.add(field.name, reason)
            return
        for path, reason in type_obstacles(field.name, found, field.type):
            findings.add(path, reason)

    def _column(self, part: Any, field: pa.Field, findings: Findings, start: int) -> pa.Array:
        if field.name not in self._names:
            return pa.nulls(len(part), field.type)
        column = part.iloc[:, self._names.index(field.name)]
        if column.dtype == object:
            values = column.where(column.notna(), None).tolist()
            return python_column(values, field, findings, lambda index: start + index)
        return cast_column(_arrow(column), field, findings, start)


def _arrow(column: Any) -> pa.Array:
    array = pa.array(column, from_pandas=True)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def incoming(
    data: Any,
    schema: pa.Schema,
    *,
    what: str,
    may_lack_nullable: bool = False,
    ids: tuple[str, ...] | None = None,
    max_batch_bytes: int = MAX_BYTES,
) -> Incoming:
    """Return data of any kind as batches for a table with this schema, or raise ``DataProblems``.

    ``what`` names the table in messages. With ``may_lack_nullable`` the result has only those
    nullable columns that the data has; otherwise the others are null. ``ids`` names the columns
    that hold ids, if they differ from those that the schema names.
    """
    findings = Findings(what, schema.names)
    source = _source(data, findings)
    coming = source.prepare(schema, findings, may_lack=may_lack_nullable)
    findings.raise_if_any()
    if ids is None:
        ids = id_columns(schema)
    return Incoming(source, coming, findings, ids, max_batch_bytes)


class Incoming:
    """A stream of batches that is read once. ``rows`` counts those that were read."""

    def __init__(
        self, source: Source, schema: pa.Schema, findings: Findings, ids: tuple[str, ...], most: int
    ) -> None:
        self.schema = schema
        self.rows = 0
        self._batches = self._stream(source, findings, ids, most)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self._batches

    def reader(self) -> pa.RecordBatchReader:
        """Return the same stream as a reader."""
        return pa.RecordBatchReader.from_batches(self.schema, self._batches)

    def _stream(
        self, source: Source, findings: Findings, ids: tuple[str, ...], most: int
    ) -> Iterator[pa.RecordBatch]:
        looked_at = 0
        for batch in source.batches(self.schema, findings, most):
            if batch is None:
                findings.raise_if_any()
                continue
            refuse_bad_ids(batch, ids, findings, looked_at)
            looked_at += len(batch)
            if not findings:
                for part in halve(batch, most):
                    self.rows += len(part)
                    yield part
        findings.raise_if_any()


def _source(data: Any, findings: Findings) -> Source:
    kinds = "a Table, a RecordBatch, a reader, a data frame, or mappings, one for each row"
    frame = frame_source(data)
    if frame is not None:
        return frame
    try:
        source = arrow_source(data)
    except pa.ArrowException as failure:
        findings.add("*", f"should be {kinds}, found {type(data).__name__}: {failure}")
        findings.raise_if_any()
    if source is not None:
        return source
    if isinstance(data, Mapping):
        findings.add("*", f"should be {kinds}, found one mapping: put it in a list")
    elif hasattr(data, "collect") and hasattr(data, "collect_schema"):
        findings.add("*", f"should be {kinds}, found a lazy frame: call its collect() first")
    elif isinstance(data, str | bytes) or not isinstance(data, Iterable):
        findings.add("*", f"should be {kinds}, found {type(data).__name__} {short(data)}")
    return RowSource(data if isinstance(data, Iterable) else ())
