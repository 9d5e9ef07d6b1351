"""The format of rows that differ. Pure.

The columns are the kind of change, the id, and the rows before and after as structs. A struct is
null where there is no row; any value in it may be null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from omnigraph_l2._rows.row_alignment import Kind

__all__ = ["BATCH_ROWS", "one_sided", "rows_schema", "structs_of"]

BATCH_ROWS: Final = 8_192


def rows_schema(
    older: pa.Schema, newer: pa.Schema, columns: Sequence[str] | None = None
) -> pa.Schema:
    """Return the columns: for tables with these ones, or for the ``id`` and some of them."""
    return pa.schema(
        [
            pa.field("change", pa.string(), nullable=False),
            pa.field("id", pa.string(), nullable=False),
            pa.field("before", _struct(older, columns)),
            pa.field("after", _struct(newer, columns)),
        ]
    )


def structs_of(schema: pa.Schema) -> tuple[Any, Any]:
    """Return the types of the rows before and after."""
    return schema.field("before").type, schema.field("after").type


def one_sided(batch: pa.RecordBatch, kind: Kind, schema: pa.Schema) -> pa.RecordBatch:
    """Describe rows that were all inserted, or all deleted."""
    older, newer = structs_of(schema)
    there = newer if kind is Kind.INSERT else older
    columns = [batch.column(field.name) for field in there]
    rows = pa.StructArray.from_arrays(columns, fields=list(there))
    kinds = pa.array([kind.value]).take(pa.nulls(len(batch), pa.int8()).fill_null(0))
    sides = [
        rows if side is kind else rows.take(pa.nulls(len(batch), pa.int64()))
        for side in (Kind.DELETE, Kind.INSERT)
    ]
    return pa.RecordBatch.from_arrays([kinds, batch.column("id"), *sides], schema=schema)


def _struct(schema: pa.Schema, columns: Sequence[str] | None) -> pa.DataType:
    return pa.struct(
        [
            field.remove_metadata().with_nullable(True)
            for field in schema
            if columns is None or field.name in {*columns, "id"}
        ]
    )
