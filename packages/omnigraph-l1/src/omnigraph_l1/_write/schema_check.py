"""Check that data matches a table's schema, batch by batch, and report everything that is wrong.

Invariant: columns are matched by name and come out in the table's order; no value is changed and no
type is cast; a nullable column that is missing becomes nulls, unless it may stay missing. All
problems that the schema shows are raised at once, before any row is read; forbidden nulls and
repeated keys are found while the rows are read, once. Pure: it does no I/O of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l1._dataset.argument_checks import key_problems
from omnigraph_l1._storage.location import Location
from omnigraph_l1.batch_groups import group_parts
from omnigraph_l1.errors import DataProblem, InvalidData

__all__ = ["ArrowData", "CheckedData", "check_data", "gather_batches"]

ArrowData = Any
"""Anything with an Arrow stream: a Table, a RecordBatch, a RecordBatchReader, a data frame."""

_KEYS_SHOWN = 5
_ROWS = 131_072
_BYTES = 16 * 1024 * 1024
_ALIGNMENT = 16


def check_data(
    data: ArrowData,
    schema: pa.Schema,
    *,
    location: Location,
    key: str | None = None,
    may_lack_nullable: bool = False,
) -> CheckedData:
    """Prepare data for a table; ``InvalidData`` with every problem that its schema shows.

    With ``key``, ``CheckedData.refuse_repeated_keys`` reports keys that occur twice.
    """
    source = _reader(data, location)
    problems = [*_schema_problems(source.schema, schema)]
    if key is not None:
        problems += key_problems(key, schema)
    if problems:
        raise InvalidData(location=str(location), problems=tuple(problems))
    if may_lack_nullable:
        present = set(source.schema.names)
        schema = pa.schema([f for f in schema if f.name in present], metadata=schema.metadata)
    return CheckedData(source, schema, location, key)


@attrs.define(init=False)
class CheckedData:
    """Data on its way into a table: read ``reader`` once, then ask what passed by."""

    reader: pa.RecordBatchReader
    rows: int
    failure: BaseException | None
    """What came out of the data while it was read. Lance would only give its text."""

    def __init__(
        self, source: pa.RecordBatchReader, schema: pa.Schema, location: Location, key: str | None
    ) -> None:
        self.rows = 0
        self.failure = None
        self._place = location
        self._key = key
        self._keys: list[pa.Array] = []
        fitting = gather_batches(self._batches(source, schema))
        self.reader = pa.RecordBatchReader.from_batches(schema, fitting)

    _place: Location = attrs.field(init=False)
    _key: str | None = attrs.field(init=False)
    _keys: list[pa.Array] = attrs.field(init=False)

    def read_all(self) -> pa.Table:
        """Read everything, for data that is small by its nature, and refuse repeated keys."""
        table = self.reader.read_all()
        self.refuse_repeated_keys()
        return table

    def refuse_repeated_keys(self) -> None:
        """Raise ``InvalidData`` that lists keys which stood twice in what was read."""
        if self._key is None or not self._keys:
            return
        counted = pc.value_counts(pa.chunked_array(self._keys))
        repeated = counted.filter(pc.greater(counted.field("counts"), 1)).field("values")
        if len(repeated):
            shown = _quote_list(repeated.slice(0, _KEYS_SHOWN).to_pylist(), len(repeated))
            problem = DataProblem(self._key, f"stands more than once with {shown}")
            raise InvalidData(location=str(self._place), problems=(problem,))

    def _batches(self, source: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        try:
            for batch in source:
                yield self._check_batch(batch, schema)
        except BaseException as error:
            self.failure = error
            raise

    def _check_batch(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        problems, columns = [], []
        for field in schema:
            index = batch.schema.get_field_index(field.name)
            column = pa.nulls(len(batch), field.type) if index < 0 else batch.column(index)
            if column.null_count and (not field.nullable or field.name == self._key):
                row = self.rows + pc.index(column.is_null(), value=True).as_py()
                problems.append(DataProblem(field.name, f"is null in row {row}, but may not be"))
            columns.append(_copy(column) if _must_be_copied(column) else column)
        if problems:
            raise InvalidData(location=str(self._place), problems=tuple(problems))
        if self._key is not None:
            self._keys.append(columns[schema.get_field_index(self._key)])
        self.rows += len(batch)
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def _reader(data: ArrowData, location: Location) -> pa.RecordBatchReader:
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, pa.Table):
        return data.to_reader()
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data)
    problem = f"expected Arrow data (a Table, a RecordBatchReader, …), found {type(data).__name__}"
    raise InvalidData(location=str(location), problems=(DataProblem("*", problem),))


def gather_batches(
    batches: Iterable[pa.RecordBatch], rows: int = _ROWS, size: int = _BYTES
) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in few batches, because each batch costs Lance time of its own.

    A batch that is large already is not copied.
    """
    for group in group_parts(batches, rows=rows, size=size):
        if len(group) == 1:
            yield from group
        else:
            yield from pa.Table.from_batches(group).combine_chunks().to_batches()


def _must_be_copied(column: pa.Array) -> bool:
    """Return what Lance panics at: slices of structs in structs, decimals that lie askew in memory.

    What comes from Java, Spark for one, is aligned to 8 bytes, and decimals have 16.
    """
    if _has_struct_in_struct(column.type):
        return True
    askew = any(part is not None and part.address % _ALIGNMENT for part in column.buffers())
    return askew and _has_decimals(column.type)


def _has_decimals(type_: pa.DataType) -> bool:
    children = (type_.field(index).type for index in range(type_.num_fields))
    return pa.types.is_decimal(type_) or any(map(_has_decimals, children))


def _has_struct_in_struct(type_: pa.DataType) -> bool:
    children = [type_.field(index).type for index in range(type_.num_fields)]
    inner = pa.types.is_struct(type_) and any(pa.types.is_struct(child) for child in children)
    return inner or any(_has_struct_in_struct(child) for child in children)


def _copy(column: pa.Array) -> pa.Array:
    """Copy a column."""
    return column.take(pa.array(range(len(column)), pa.int64()))


def _schema_problems(found: pa.Schema, wanted: pa.Schema) -> Iterator[DataProblem]:
    for name in dict.fromkeys(found.names):
        if found.names.count(name) > 1:
            yield DataProblem(name, "stands more than once in the data")
        elif name not in wanted.names:
            yield DataProblem(
                name, f"is no column of the table, which has {_quote_list(wanted.names)}"
            )
        elif found.field(name).type != wanted.field(name).type:
            expected, given = wanted.field(name).type, found.field(name).type
            yield DataProblem(name, f"should be {expected}, found {given}")
    for field in wanted:
        if field.name not in found.names and not field.nullable:
            yield DataProblem(field.name, "is missing, and may not be null")


def _quote_list(values: list[Any], total: int | None = None) -> str:
    more = (total or 0) - len(values)
    return ", ".join(repr(value) for value in values) + (f" and {more} more" if more > 0 else "")
