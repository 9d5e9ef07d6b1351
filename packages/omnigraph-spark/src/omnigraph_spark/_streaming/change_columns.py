"""The columns of a stream of changes, and casts of older and newer rows to them.

Invariant: a stream has the properties that the table had when the stream was loaded. A property
that a row lacks, or has with another type, is null. Properties that only older rows have are left
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import attrs
import pyarrow as pa
from pyspark.sql import types as sql

from omnigraph_spark._convert.batch_casts import cast_batch
from omnigraph_spark._convert.spark_types import arrow_schema, spark_schema
from omnigraph_spark.errors import StreamColumnsChanged, UnsupportedTypes

__all__ = ["CommitStamp", "change_schema", "check_columns", "row_columns", "stamp_changes"]

_BEFORE, _AFTER = "before", "after"


@attrs.frozen
class CommitStamp:
    """The commit of a change."""

    commit: str
    version: int
    at: datetime


def change_schema(rows: pa.Schema, *, table_key: str) -> sql.StructType:
    """Return the columns of the stream of a table with these columns."""
    fields = [field.with_nullable(True).remove_metadata() for field in rows]
    row = spark_schema(pa.schema(fields), table_key=table_key)
    return sql.StructType(
        [
            sql.StructField("commit", sql.StringType(), nullable=False),
            sql.StructField("version", sql.LongType(), nullable=False),
            sql.StructField("at", sql.TimestampType(), nullable=False),
            sql.StructField("change", sql.StringType(), nullable=False),
            sql.StructField("id", sql.StringType(), nullable=False),
            sql.StructField(_BEFORE, row),
            sql.StructField(_AFTER, row),
        ]
    )


def row_columns(stream: pa.Schema) -> list[str]:
    """Return the names of the properties in a stream."""
    return [field.name for field in stream.field(_AFTER).type]


def check_columns(
    found: pa.Schema, stream: pa.Schema, stamp: CommitStamp, *, table_key: str, all_of_them: bool
) -> None:
    """Raise ``StreamColumnsChanged`` unless rows of a newer commit fit into the stream.

    Properties that the stream does not have are wrong only with ``all_of_them``.
    """
    known = {field.name: field.type for field in stream.field(_AFTER).type}
    problems = []
    for field in dict.fromkeys([*_row(found, _BEFORE), *_row(found, _AFTER)]):
        if field.name not in known:
            if all_of_them:
                problems.append(f"it has {field.name!r}, which is {field.type}")
        elif _type(field, table_key) != known[field.name]:
            problems.append(f"{field.name!r} is {field.type}, which was {known[field.name]}")
    if problems:
        raise StreamColumnsChanged(
            table_key=table_key,
            commit_id=stamp.commit,
            problems=tuple(dict.fromkeys(problems)),
        )


def stamp_changes(
    batches: pa.RecordBatchReader, stamp: CommitStamp, stream: pa.Schema, *, table_key: str
) -> Iterator[pa.RecordBatch]:
    """Yield changes with the columns of the stream."""
    sides = [
        (stream.field(side).type, _match_columns(batches.schema, stream, side, table_key))
        for side in (_BEFORE, _AFTER)
    ]
    for batch in batches:
        stamp_columns = [pa.repeat(value, len(batch)) for value in attrs.astuple(stamp)]
        rows = [
            _cast_rows(batch.column(name), *side, table_key)
            for name, side in zip((_BEFORE, _AFTER), sides, strict=True)
        ]
        columns = [*stamp_columns, batch.column("change"), batch.column("id"), *rows]
        cast = [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(columns, stream, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(cast, schema=stream)


def _match_columns(
    found: pa.Schema, stream: pa.Schema, side: str, table_key: str
) -> Sequence[int | None]:
    """Return the index of each wanted property, or None where it is missing or differs."""
    there = {field.name: number for number, field in enumerate(_row(found, side))}
    return [
        there[field.name]
        if field.name in there
        and _type(_row(found, side)[there[field.name]], table_key) == field.type
        else None
        for field in _row(stream, side)
    ]


def _cast_rows(
    found: pa.StructArray, wanted: pa.StructType, places: Sequence[int | None], table_key: str
) -> pa.StructArray:
    fields = list(wanted)
    if found.null_count == len(found):
        return pa.nulls(len(found), wanted)
    children = found.flatten()
    columns = [
        pa.nulls(len(found), field.type) if location is None else children[location]
        for field, location in zip(fields, places, strict=True)
    ]
    rows = pa.RecordBatch.from_arrays(columns, names=[field.name for field in fields])
    cast = cast_batch(rows, pa.schema(fields), table_key=table_key)
    return pa.StructArray.from_arrays(cast.columns, fields=fields, mask=found.is_null())


def _row(schema: pa.Schema, side: str) -> list[pa.Field]:
    return list(schema.field(side).type)


def _type(field: pa.Field, table_key: str) -> pa.DataType | None:
    """Return the Arrow type with which Spark exchanges a property, or None if it has none."""
    try:
        return arrow_schema(spark_schema(pa.schema([field]), table_key=table_key)).field(0).type
    except UnsupportedTypes:
        return None
