"""Translate filters of Spark to filters of Lance.

Invariant: Lance keeps every row that Spark would keep. Where both filters are equivalent, Spark
need not filter again; where Lance keeps more rows, or there is no translation, Spark does. Both
compare text by bytes; they differ for signed zero and NaN.
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

__all__ = ["PushedFilters", "push_filters"]

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
class PushedFilters:
    """The filter for Lance, and the filters left to Spark."""

    sql: str | None
    left: tuple[spark.Filter, ...]


@attrs.frozen
class _Translation:
    sql: str
    same: bool = True
    """Whether Lance keeps exactly the rows that Spark keeps."""


class _Untranslatable(Exception):
    """Lance has no such filter, or it would mean something else."""


def push_filters(filters: Iterable[spark.Filter], schema: pa.Schema) -> PushedFilters:
    """Translate as many filters as possible. ``schema`` is that of the table."""
    said: list[str] = []
    left: list[spark.Filter] = []
    for each in filters:
        try:
            found = _translate(each, schema)
        except _Untranslatable:
            left.append(each)
            continue
        said.append(found.sql)
        if not found.same:
            left.append(each)
    return PushedFilters(" AND ".join(f"({sql})" for sql in said) or None, tuple(left))


def _translate(filter_: spark.Filter, schema: pa.Schema) -> _Translation:
    if isinstance(filter_, spark.Not):
        inner = _translate(filter_.child, schema)
        nulls = isinstance(filter_.child, spark.In) and None in filter_.child.value
        if not inner.same or nulls:
            raise _Untranslatable
        return _Translation(f"NOT ({inner.sql})")
    field = _field(filter_, schema)
    value = getattr(filter_, "value", None)
    return _translate_filter(f"`{field.name}`", field.type, type(filter_), value)


def _translate_filter(
    column: str, type_: pa.DataType, kind: type[spark.Filter], value: Any
) -> _Translation:
    if kind in _TEXT and pa.types.is_string(type_):
        return _Translation(f"{_TEXT[kind]}({column}, {_text_literal(type_, value)})")
    if kind in _COMPARED:
        return _translate_comparison(column, type_, _COMPARED[kind], value)
    if kind is spark.In:
        return _translate_in(column, type_, value)
    if kind is spark.IsNull or (kind is spark.EqualNullSafe and value is None):
        return _Translation(f"{column} IS NULL")
    if kind is spark.IsNotNull:
        return _Translation(f"{column} IS NOT NULL")
    if kind is spark.EqualNullSafe:
        return _Translation(f"{column} IS NOT NULL AND {column} = {_literal(type_, value)}")
    raise _Untranslatable


def _field(filter_: spark.Filter, schema: pa.Schema) -> pa.Field:
    path: tuple[str, ...] = getattr(filter_, "attribute", ())
    if len(path) != 1 or path[0] not in schema.names or "`" in path[0]:
        raise _Untranslatable
    return schema.field(path[0])


def _translate_in(column: str, type_: pa.DataType, values: Iterable[Any]) -> _Translation:
    listed = [_literal(type_, value) for value in values if value is not None]
    if len(listed) > _MOST_VALUES:
        raise _Untranslatable
    return _Translation(f"{column} IN ({', '.join(listed)})") if listed else _Translation("false")


def _translate_comparison(column: str, type_: pa.DataType, sign: str, value: Any) -> _Translation:
    if not pa.types.is_floating(type_):
        return _Translation(f"{column} {sign} {_literal(type_, value)}")
    if not isinstance(value, float) or not math.isfinite(value) or value == 0:
        raise _Untranslatable
    said = f"{column} {sign} {value!r}"
    # For Spark NaN is above every number; for Lance one with a sign is below.
    return (
        _Translation(f"{said} OR isnan({column})", same=False)
        if ">" in sign
        else _Translation(said, same=False)
    )


def _literal(type_: pa.DataType, value: Any) -> str:
    for test, say in _LITERALS:
        if test(type_):
            return say(type_, value)
    raise _Untranslatable


def _text_literal(_: pa.DataType, value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise _Untranslatable
    return "'" + value.replace("'", "''") + "'"


def _integer_literal(type_: pa.DataType, value: Any) -> str:
    number = int(value) if isinstance(value, Decimal) and value == int(value) else value
    signed = pa.types.is_signed_integer(type_)
    least = -(2 ** (type_.bit_width - 1)) if signed else 0
    most = min(2 ** (type_.bit_width - signed) - 1, _LARGEST)
    if not isinstance(number, int) or isinstance(number, bool) or not least < number <= most:
        raise _Untranslatable
    return str(number)


def _bool_literal(_: pa.DataType, value: Any) -> str:
    if not isinstance(value, bool):
        raise _Untranslatable
    return str(value).lower()


def _date_literal(_: pa.DataType, value: Any) -> str:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise _Untranslatable
    return f"date '{value.isoformat()}'"


_LITERALS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType, Any], str]], ...] = (
    (pa.types.is_integer, _integer_literal),
    (pa.types.is_string, _text_literal),
    (pa.types.is_boolean, _bool_literal),
    (pa.types.is_date32, _date_literal),
)
