"""Filters of Spark as filters of Lance. Pure.

Always: what Lance is given keeps every row that Spark would keep. Where it is the same filter,
Spark need not look again; where it keeps more, or cannot be said, Spark does. Both compare text by
its bytes; they differ in zero with a sign and in NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import attrs
import pyarrow as pa
from pyspark.sql import datasource as spark

__all__ = ["Pushed", "push"]

_COMPARED: dict[type[spark.Filter], str] = {
    spark.EqualTo: "=",
    spark.GreaterThan: ">",
    spark.GreaterThanOrEqual: ">=",
    spark.LessThan: "<",
    spark.LessThanOrEqual: "<=",
}
_TEXT: dict[type[spark.Filter], str] = {
    spark.StringStartsWith: "starts_with",
    spark.StringEndsWith: "ends_with",
    spark.StringContains: "contains",
}
_LARGEST = 2**63 - 1
_MOST_VALUES = 10_000


@attrs.frozen
class Pushed:
    """What Lance filters, and what is left to Spark."""

    sql: str | None
    left: tuple[spark.Filter, ...]


@attrs.frozen
class _Said:
    sql: str
    same: bool = True
    """Whether Lance keeps the very rows that Spark keeps, and not more."""


class _CannotSay(Exception):
    """Lance has no such filter, or it would mean something else."""


def push(filters: Iterable[spark.Filter], schema: pa.Schema) -> Pushed:
    """Say as much as can be said; ``schema`` is the table's own."""
    said: list[str] = []
    left: list[spark.Filter] = []
    for each in filters:
        try:
            found = _say(each, schema)
        except _CannotSay:
            left.append(each)
            continue
        said.append(found.sql)
        if not found.same:
            left.append(each)
    return Pushed(" AND ".join(f"({sql})" for sql in said) or None, tuple(left))


def _say(filter_: spark.Filter, schema: pa.Schema) -> _Said:
    if isinstance(filter_, spark.Not):
        inner = _say(filter_.child, schema)
        nulls = isinstance(filter_.child, spark.In) and None in filter_.child.value
        if not inner.same or nulls:
            raise _CannotSay
        return _Said(f"NOT ({inner.sql})")
    field = _field(filter_, schema)
    value = getattr(filter_, "value", None)
    return _say_of(f"`{field.name}`", field.type, type(filter_), value)


def _say_of(column: str, type_: pa.DataType, kind: type[spark.Filter], value: Any) -> _Said:
    if kind in _TEXT and pa.types.is_string(type_):
        return _Said(f"{_TEXT[kind]}({column}, {_of_text(type_, value)})")
    if kind in _COMPARED:
        return _compared(column, type_, _COMPARED[kind], value)
    if kind is spark.In:
        return _said_of_many(column, type_, value)
    if kind is spark.IsNull or (kind is spark.EqualNullSafe and value is None):
        return _Said(f"{column} IS NULL")
    if kind is spark.IsNotNull:
        return _Said(f"{column} IS NOT NULL")
    if kind is spark.EqualNullSafe:
        return _Said(f"{column} IS NOT NULL AND {column} = {_exact(type_, value)}")
    raise _CannotSay


def _field(filter_: spark.Filter, schema: pa.Schema) -> pa.Field:
    path: tuple[str, ...] = getattr(filter_, "attribute", ())
    if len(path) != 1 or path[0] not in schema.names or "`" in path[0]:
        raise _CannotSay
    return schema.field(path[0])


def _said_of_many(column: str, type_: pa.DataType, values: Iterable[Any]) -> _Said:
    listed = [_exact(type_, value) for value in values if value is not None]
    if len(listed) > _MOST_VALUES:
        raise _CannotSay
    return _Said(f"{column} IN ({', '.join(listed)})") if listed else _Said("false")


def _compared(column: str, type_: pa.DataType, sign: str, value: Any) -> _Said:
    if not pa.types.is_floating(type_):
        return _Said(f"{column} {sign} {_exact(type_, value)}")
    if not isinstance(value, float) or not math.isfinite(value) or value == 0:
        raise _CannotSay
    said = f"{column} {sign} {value!r}"
    # For Spark NaN is above every number; for Lance one with a sign is below.
    return (
        _Said(f"{said} OR isnan({column})", same=False) if ">" in sign else _Said(said, same=False)
    )


def _exact(type_: pa.DataType, value: Any) -> str:
    for test, say in _LITERALS:
        if test(type_):
            return say(type_, value)
    raise _CannotSay


def _of_text(_: pa.DataType, value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise _CannotSay
    return "'" + value.replace("'", "''") + "'"


def _of_integer(type_: pa.DataType, value: Any) -> str:
    number = int(value) if isinstance(value, Decimal) and value == int(value) else value
    signed = pa.types.is_signed_integer(type_)
    least = -(2 ** (type_.bit_width - 1)) if signed else 0
    most = min(2 ** (type_.bit_width - signed) - 1, _LARGEST)
    if not isinstance(number, int) or isinstance(number, bool) or not least < number <= most:
        raise _CannotSay
    return str(number)


def _of_truth(_: pa.DataType, value: Any) -> str:
    if not isinstance(value, bool):
        raise _CannotSay
    return str(value).lower()


def _of_day(_: pa.DataType, value: Any) -> str:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise _CannotSay
    return f"date '{value.isoformat()}'"


_LITERALS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType, Any], str]], ...] = (
    (pa.types.is_integer, _of_integer),
    (pa.types.is_string, _of_text),
    (pa.types.is_boolean, _of_truth),
    (pa.types.is_date32, _of_day),
)
