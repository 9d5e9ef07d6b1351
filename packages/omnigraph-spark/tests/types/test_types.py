"""What Spark's types hold is exactly what the graph has, or it is refused by name. No JVM here."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as sql

from omnigraph_l2.errors import InvalidData
from omnigraph_spark._convert.batch_casts import cast_batch
from omnigraph_spark._convert.spark_types import arrow_schema, schema_for_write, spark_schema
from omnigraph_spark.errors import InexactValue, UnsupportedTypes
from omnigraph_testing.strategies import batches, property_types, schemas

KEY = "node:Thing"
STRING, INT = sql.StringType(), sql.IntegerType()

TABLE: list[tuple[pa.DataType, sql.DataType]] = [
    (pa.bool_(), sql.BooleanType()),
    (pa.int8(), sql.ByteType()),
    (pa.uint8(), sql.ShortType()),
    (pa.uint16(), INT),
    (pa.uint32(), sql.LongType()),
    (pa.uint64(), sql.DecimalType(20, 0)),
    (pa.float16(), sql.FloatType()),
    (pa.float64(), sql.DoubleType()),
    (pa.large_string(), STRING),
    (pa.string_view(), STRING),
    (pa.large_binary(), sql.BinaryType()),
    (pa.binary(4), sql.BinaryType()),
    (pa.date64(), sql.DateType()),
    (pa.timestamp("ns"), sql.TimestampNTZType()),
    (pa.timestamp("s", "Europe/Berlin"), sql.TimestampType()),
    (pa.time32("s"), sql.TimeType(0)),
    (pa.time32("ms"), sql.TimeType(3)),
    (pa.time64("ns"), sql.TimeType(6)),
    (pa.duration("ms"), sql.DayTimeIntervalType()),
    (pa.decimal128(38, 38), sql.DecimalType(38, 38)),
    (pa.decimal256(38, 2), sql.DecimalType(38, 2)),
    (pa.list_(pa.float32(), 3), sql.ArrayType(sql.FloatType())),
    (pa.large_list(pa.field("x", pa.int32(), nullable=False)), sql.ArrayType(INT, False)),
    (pa.map_(pa.string(), pa.int32()), sql.MapType(STRING, INT)),
    (
        pa.struct([pa.field("a", pa.int32(), nullable=False), ("b", pa.list_(pa.uint8()))]),
        sql.StructType().add("a", INT, nullable=False).add("b", sql.ArrayType(sql.ShortType())),
    ),
    (pa.dictionary(pa.int32(), pa.string()), STRING),
    (pa.null(), sql.NullType()),
    (pa.uuid(), sql.BinaryType()),
]


@pytest.mark.parametrize(("arrow", "spark_type"), TABLE, ids=str)
def test_which_type_stands_for_which(arrow: pa.DataType, spark_type: sql.DataType) -> None:
    """The table of docs/spark.md; and an empty batch of it goes over."""
    schema = pa.schema([pa.field("id", pa.string(), nullable=False), ("x", arrow)])
    made = spark_schema(schema, table_key=KEY)
    assert made["x"] == sql.StructField("x", spark_type)
    assert not made["id"].nullable
    wanted = arrow_schema(made)
    empty = pa.record_batch([pa.array([], pa.string()), pa.nulls(0, arrow)], schema=schema)
    assert cast_batch(empty, wanted, table_key=KEY).schema == wanted


def test_what_no_table_can_hold_is_refused_whole() -> None:
    """Every column of a data frame that has no Arrow type is named."""
    spans = sql.StructType([sql.StructField("span", sql.YearMonthIntervalType())])
    given = {"id": sql.StringType(), "months": sql.CalendarIntervalType(), "inner": spans}
    schema = sql.StructType([sql.StructField(*each) for each in given.items()])
    with pytest.raises(InvalidData) as told:
        schema_for_write(schema, table_key=KEY)
    assert told.value.table_key == KEY
    assert [each.column for each in told.value.problems] == ["months", "inner"]
    assert "interval" in told.value.problems[1].problem


def test_what_spark_does_not_have_is_refused_whole() -> None:
    """Every column that cannot be held is named, with the reason."""
    wrong = {
        "wide": pa.decimal256(39, 2),
        "negative": pa.decimal128(5, -2),
        "above": pa.decimal128(2, 5),
        "months": pa.month_day_nano_interval(),
        "either": pa.sparse_union([pa.field("a", pa.int32())]),
        "runs": pa.run_end_encoded(pa.int32(), pa.int32()),
        "inner": pa.list_(pa.struct([("x", pa.month_day_nano_interval())])),
    }
    with pytest.raises(UnsupportedTypes) as told:
        spark_schema(pa.schema([("id", pa.string()), *wrong.items()]), table_key=KEY)
    assert len(told.value.problems) == len(wrong)
    for name, problem in zip(wrong, told.value.problems, strict=True):
        assert problem.startswith(repr(name))


INEXACT: list[tuple[pa.DataType, Any]] = [
    (pa.timestamp("ns"), 1),
    (pa.timestamp("ns", "UTC"), 1_001),
    (pa.timestamp("s"), 2**62),
    (pa.duration("ns"), 1),
    (pa.duration("s"), -(2**62)),
    (pa.time64("ns"), 1),
    (pa.list_(pa.time64("ns")), [1]),
    (pa.struct([("x", pa.map_(pa.string(), pa.time64("ns")))]), {"x": [("a", 1)]}),
    (pa.date64(), 5),
]


@pytest.mark.parametrize(("arrow", "value"), INEXACT, ids=str)
def test_what_cannot_be_told_exactly_is_refused(arrow: pa.DataType, value: object) -> None:
    """With the column, and both types."""
    schema = pa.schema([("when", arrow)])
    batch = pa.record_batch([pa.array([None, value], arrow)], schema=schema)
    wanted = arrow_schema(spark_schema(schema, table_key=KEY))
    with pytest.raises(InexactValue) as told:
        cast_batch(batch, wanted, table_key=KEY)
    assert (told.value.column, told.value.found) == ("when", str(arrow))


# Spans of seconds that Python knows are longer than Spark's: see INEXACT.
HELD = property_types().filter(lambda found: not re.search(r"duration\[m?s\]", str(found)))


@given(schemas("edge", types=HELD).flatmap(batches), st.integers(0, 3))
def test_every_value_comes_over_and_back(batch: pa.RecordBatch, start: int) -> None:
    """Also of a slice: what Spark is given has Spark's types, and is the same data."""
    batch = batch.slice(start)
    wanted = arrow_schema(spark_schema(batch.schema, table_key=KEY))
    there = cast_batch(batch, wanted, table_key=KEY)
    assert there.schema.equals(wanted)
    there.validate(full=True)
    back = cast_batch(there, batch.schema, table_key=KEY)
    assert back.equals(batch) or back.to_pylist() == batch.to_pylist() or nan_alike(back, batch)


def nan_alike(one: pa.RecordBatch, other: pa.RecordBatch) -> bool:
    """Compare where NaN is equal to NaN."""
    return repr(one.to_pylist()) == repr(other.to_pylist())


def test_without_columns_rows_are_counted() -> None:
    """A batch of no columns knows how many rows it has."""
    rows = pa.RecordBatch.from_struct_array(pa.array([{}] * 3, pa.struct([])))
    assert cast_batch(rows, pa.schema([]), table_key=KEY).num_rows == 3
