"""The columns of a stream of changes, and rows of any time brought into them. Pure.

Always: a stream has the properties that the table had when it was begun. What rows of another time
lack, or had as another type, is null; what they have more is left out, if it is older.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import attrs
import pyarrow as pa
from pyspark.sql import types as sql

from omnigraph_spark._types import arrow_schema, cast_batch, spark_schema
from omnigraph_spark.errors import StreamColumnsChanged, UnsupportedTypes

__all__ = ["Stamp", "check_newer", "stream_schema", "wanted_names", "with_stamp"]

_BEFORE, _AFTER = "before", "after"


@attrs.frozen
class Stamp:
    """The commit that a change belongs to."""

    commit: str
    version: int
    at: datetime


def stream_schema(rows: pa.Schema, *, table_key: str) -> sql.StructType:
    """Give the columns of the stream of a table, whose rows have these."""
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


def wanted_names(stream: pa.Schema) -> list[str]:
    """Name the properties of the rows in a stream."""
    return [field.name for field in stream.field(_AFTER).type]


def check_newer(
    found: pa.Schema, stream: pa.Schema, stamp: Stamp, *, table_key: str, all_of_them: bool
) -> None:
    """Raise unless a commit that is newer than the stream has rows that fit into it.

    Columns that the stream does not have are wrong where it shows ``all_of_them``.
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


def with_stamp(
    batches: pa.RecordBatchReader, stamp: Stamp, stream: pa.Schema, *, table_key: str
) -> Iterator[pa.RecordBatch]:
    """Give changes as those of a stream."""
    sides = [
        (stream.field(side).type, _places(batches.schema, stream, side, table_key))
        for side in (_BEFORE, _AFTER)
    ]
    for batch in batches:
        told = [pa.repeat(value, len(batch)) for value in attrs.astuple(stamp)]
        rows = [
            _rows(batch.column(name), *side, table_key)
            for name, side in zip((_BEFORE, _AFTER), sides, strict=True)
        ]
        columns = [*told, batch.column("change"), batch.column("id"), *rows]
        cast = [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(columns, stream, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(cast, schema=stream)


def _places(found: pa.Schema, stream: pa.Schema, side: str, table_key: str) -> Sequence[int | None]:
    """Tell where each wanted property is; None where it is not, or is another."""
    there = {field.name: number for number, field in enumerate(_row(found, side))}
    return [
        there[field.name]
        if field.name in there
        and _type(_row(found, side)[there[field.name]], table_key) == field.type
        else None
        for field in _row(stream, side)
    ]


def _rows(
    found: pa.StructArray, wanted: pa.StructType, places: Sequence[int | None], table_key: str
) -> pa.StructArray:
    fields = list(wanted)
    if found.null_count == len(found):
        return pa.nulls(len(found), wanted)
    children = found.flatten()
    columns = [
        pa.nulls(len(found), field.type) if place is None else children[place]
        for field, place in zip(fields, places, strict=True)
    ]
    rows = pa.RecordBatch.from_arrays(columns, names=[field.name for field in fields])
    cast = cast_batch(rows, pa.schema(fields), table_key=table_key)
    return pa.StructArray.from_arrays(cast.columns, fields=fields, mask=found.is_null())


def _row(schema: pa.Schema, side: str) -> list[pa.Field]:
    return list(schema.field(side).type)


def _type(field: pa.Field, table_key: str) -> pa.DataType | None:
    """Give the type that Spark has for a property, as it exchanges it; None where it has none."""
    try:
        return arrow_schema(spark_schema(pa.schema([field]), table_key=table_key)).field(0).type
    except UnsupportedTypes:
        return None
