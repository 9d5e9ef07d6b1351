"""The kinds of data that users bring, each as batches of what a table wants.

Always: a source tells what is wrong with its columns before it gives a row, and notes what is
wrong with rows while it goes. It gives ``None`` where the problems so far must be told: after each
batch of a stream that cannot be read twice, and only at the end of data that lies in memory.
What the user's own reader raises is not touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import pyarrow as pa

from omnigraph_l2._data.casting import cast_column
from omnigraph_l2._data.findings import Findings
from omnigraph_l2._data.slicing import pieces
from omnigraph_l2._data.type_rules import type_obstacles

__all__ = ["ArrowSource", "Source", "arrow_source", "check_columns", "narrowed"]


class Source(Protocol):
    """Data of a user."""

    def prepare(self, wanted: pa.Schema, findings: Findings, *, may_lack: bool) -> pa.Schema:
        """Note what is wrong with the columns, and tell which ones will come."""

    def batches(
        self, schema: pa.Schema, findings: Findings, most: int
    ) -> Iterator[pa.RecordBatch | None]:
        """Give the rows, once, noting what is wrong with them."""


class ArrowSource:
    """Anything that is Arrow data already."""

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
                found = self._schema.field(name).type
                for path, reason in type_obstacles(name, found, wanted.field(name).type):
                    findings.add(path, reason)
        return narrowed(wanted, self._schema.names) if may_lack else wanted

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
    """Take data that is Arrow, or says that it can be."""
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
    """Note columns that stand twice, are not wanted, or are missing and may not be null."""
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            findings.add(str(name), "stands more than once in the data")
        if name not in wanted.names:
            known = ", ".join(map(repr, wanted.names))
            findings.add(str(name), f"is no column of {findings.what}, which has {known}")
    for field in wanted:
        if field.name not in names and not field.nullable:
            findings.add(field.name, "is missing, and may not be null")


def narrowed(wanted: pa.Schema, names: Iterable[Any]) -> pa.Schema:
    """Leave out nullable columns that the data lacks."""
    present = set(names)
    fields = [field for field in wanted if field.name in present or not field.nullable]
    return pa.schema(fields, metadata=wanted.metadata)
