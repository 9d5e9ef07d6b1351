"""Which type of Spark stands for which type of Arrow. Pure.

Always: Spark's type holds every value of the other one, or nearly every one and then the cast
refuses the rest (moments finer than microseconds, or too far away). Where no type of Spark's can,
that is a problem with a name. Nullability is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import types as sql
from pyspark.sql.pandas.types import to_arrow_schema

from omnigraph_l2.errors import DataProblem, InvalidData
from omnigraph_spark.errors import UnsupportedTypes

__all__ = ["arrow_schema", "spark_schema", "written_schema"]

_WIDEST_DECIMAL = 38
_NO_SUCH_TYPE = "there is no such type in Spark"
_TOO_WIDE = f"Spark's decimals have {_WIDEST_DECIMAL} digits at the most"
_ODD_SCALE = "Spark's decimals have neither a negative scale nor one above the precision"
_WIDTHS = {"s": 0, "ms": 3, "us": 6, "ns": 6}

_FLAT: tuple[tuple[str, Callable[[pa.DataType], sql.DataType]], ...] = (
    ("is_boolean", lambda _: sql.BooleanType()),
    ("is_int8", lambda _: sql.ByteType()),
    ("is_int16", lambda _: sql.ShortType()),
    ("is_uint8", lambda _: sql.ShortType()),
    ("is_int32", lambda _: sql.IntegerType()),
    ("is_uint16", lambda _: sql.IntegerType()),
    ("is_int64", lambda _: sql.LongType()),
    ("is_uint32", lambda _: sql.LongType()),
    ("is_uint64", lambda _: sql.DecimalType(20, 0)),
    ("is_float16", lambda _: sql.FloatType()),
    ("is_float32", lambda _: sql.FloatType()),
    ("is_float64", lambda _: sql.DoubleType()),
    ("is_string", lambda _: sql.StringType()),
    ("is_large_string", lambda _: sql.StringType()),
    ("is_string_view", lambda _: sql.StringType()),
    ("is_binary", lambda _: sql.BinaryType()),
    ("is_large_binary", lambda _: sql.BinaryType()),
    ("is_binary_view", lambda _: sql.BinaryType()),
    ("is_fixed_size_binary", lambda _: sql.BinaryType()),
    ("is_date", lambda _: sql.DateType()),
    ("is_timestamp", lambda t: sql.TimestampType() if t.tz else sql.TimestampNTZType()),
    ("is_time", lambda t: sql.TimeType(_WIDTHS[t.unit])),
    ("is_duration", lambda _: sql.DayTimeIntervalType()),
    ("is_null", lambda _: sql.NullType()),
)
_LISTS = ("is_list", "is_large_list", "is_fixed_size_list", "is_list_view", "is_large_list_view")


class _NoType(Exception):
    """Spark has no type for this one."""


def spark_schema(schema: pa.Schema, *, table_key: str) -> sql.StructType:
    """Give Spark's schema for a table, or raise ``UnsupportedTypes`` with every problem."""
    fields, problems = [], []
    for field in schema:
        try:
            fields.append(_field(field))
        except _NoType as problem:
            problems.append(f"{field.name!r} is {field.type}, and {problem}")
    if problems:
        raise UnsupportedTypes(table_key=table_key, problems=tuple(problems))
    return sql.StructType(fields)


def arrow_schema(schema: sql.StructType) -> pa.Schema:
    """Give the Arrow schema that Spark exchanges for a schema of its own."""
    made: pa.Schema = to_arrow_schema(schema, timezone="UTC")
    return made


def written_schema(schema: sql.StructType, *, table_key: str) -> pa.Schema:
    """Give it for rows that are to be written, or raise ``InvalidData`` with every problem."""
    problems = []
    for field in schema:
        try:
            arrow_schema(sql.StructType([field]))
        except PySparkException:
            told = f"is {field.dataType.simpleString()}, which no table can hold: cast it"
            problems.append(DataProblem(field.name, told))
    if problems:
        raise InvalidData(table_key=table_key, problems=tuple(problems))
    return arrow_schema(schema)


def _field(field: pa.Field) -> sql.StructField:
    return sql.StructField(field.name, _type(field.type), field.nullable)


def _type(found: pa.DataType) -> sql.DataType:
    for make in _makers():
        made = make(found)
        if made is not None:
            return made
    raise _NoType(_NO_SUCH_TYPE)


def _makers() -> Iterator[Callable[[pa.DataType], sql.DataType | None]]:
    yield from (_flat, _decimal, _nested, _encoded)


def _flat(found: pa.DataType) -> sql.DataType | None:
    for test, make in _FLAT:
        if getattr(pa.types, test)(found):
            return make(found)
    return None


def _decimal(found: pa.DataType) -> sql.DataType | None:
    if not pa.types.is_decimal(found):
        return None
    if found.precision > _WIDEST_DECIMAL:
        raise _NoType(_TOO_WIDE)
    if not 0 <= found.scale <= found.precision:
        raise _NoType(_ODD_SCALE)
    return sql.DecimalType(found.precision, found.scale)


def _nested(found: pa.DataType) -> sql.DataType | None:
    if any(getattr(pa.types, test)(found) for test in _LISTS):
        item = found.value_field
        return sql.ArrayType(_type(item.type), item.nullable)
    if pa.types.is_map(found):
        item = found.item_field
        return sql.MapType(_type(found.key_type), _type(item.type), item.nullable)
    if pa.types.is_struct(found):
        return sql.StructType([_field(found.field(index)) for index in range(found.num_fields)])
    return None


def _encoded(found: pa.DataType) -> sql.DataType | None:
    if pa.types.is_dictionary(found):
        return _type(found.value_type)
    if isinstance(found, pa.BaseExtensionType):
        return _type(found.storage_type)
    return None
