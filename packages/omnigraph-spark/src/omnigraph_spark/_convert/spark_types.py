"""Map types of Arrow to types of Spark.

Invariant: the type of Spark holds every value of the Arrow type, or the cast refuses the few values
that it cannot hold (times finer than microseconds, or out of range). A type without a counterpart
is a named problem. Nullability is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import types as sql
from pyspark.sql.pandas.types import to_arrow_schema

from omnigraph_l2.errors import DataProblem, InvalidData
from omnigraph_spark.errors import UnsupportedTypes

__all__ = ["arrow_schema", "schema_for_write", "spark_schema"]

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
    """Return the Spark schema of a table, or raise ``UnsupportedTypes`` with every problem."""
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
    """Return the Arrow schema that Spark uses to exchange rows of a Spark schema."""
    made: pa.Schema = to_arrow_schema(schema, timezone="UTC")
    return made


def schema_for_write(schema: sql.StructType, *, table_key: str) -> pa.Schema:
    """Return the Arrow schema of rows to write, or raise ``InvalidData`` with every problem."""
    problems = []
    for field in schema:
        try:
            arrow_schema(sql.StructType([field]))
        except PySparkException:
            problem = f"is {field.dataType.simpleString()}, which no table can hold: cast it"
            problems.append(DataProblem(field.name, problem))
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
    yield from (_flat_type, _decimal_type, _nested_type, _encoded_type)


def _flat_type(found: pa.DataType) -> sql.DataType | None:
    for test, make in _FLAT:
        if getattr(pa.types, test)(found):
            return make(found)
    return None


def _decimal_type(found: pa.DataType) -> sql.DataType | None:
    if not pa.types.is_decimal(found):
        return None
    if found.precision > _WIDEST_DECIMAL:
        raise _NoType(_TOO_WIDE)
    if not 0 <= found.scale <= found.precision:
        raise _NoType(_ODD_SCALE)
    return sql.DecimalType(found.precision, found.scale)


def _nested_type(found: pa.DataType) -> sql.DataType | None:
    if any(getattr(pa.types, test)(found) for test in _LISTS):
        item = found.value_field
        return sql.ArrayType(_type(item.type), item.nullable)
    if pa.types.is_map(found):
        item = found.item_field
        return sql.MapType(_type(found.key_type), _type(item.type), item.nullable)
    if pa.types.is_struct(found):
        return sql.StructType([_field(found.field(index)) for index in range(found.num_fields)])
    return None


def _encoded_type(found: pa.DataType) -> sql.DataType | None:
    if pa.types.is_dictionary(found):
        return _type(found.value_type)
    if isinstance(found, pa.BaseExtensionType):
        return _type(found.storage_type)
    return None
