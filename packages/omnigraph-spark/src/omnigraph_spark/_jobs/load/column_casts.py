"""Cast a column of files to the type of a table's column.

Invariant: ``value`` has Spark's type for the wanted one, or is null. ``fits`` is true where the
value is unchanged, or both are null. Nothing is rounded, truncated or interpreted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Final

import attrs
import pyarrow as pa
from pyarrow import types
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql import types as sql

from omnigraph_spark._convert.spark_types import spark_schema
from omnigraph_spark._jobs.load.cast_conditions import exact_condition, is_castable, type_kind

__all__ = ["ColumnCast", "IncompatibleTypes", "cast_column", "spark_type"]

_STEPS: Final = {"s": 1, "ms": 1000}
_NANOSECONDS: Final = ("1677-09-22", "2262-04-11")


class IncompatibleTypes(Exception):
    """No value of one type can become a value of the other."""


@attrs.frozen
class ColumnCast:
    """A column in its new type."""

    value: Column
    fits: Column | None
    """None: always."""


def spark_type(wanted: pa.DataType) -> sql.DataType:
    """Return Spark's type for a table's type, or raise ``UnsupportedTypes``."""
    return spark_schema(pa.schema([("value", wanted)]), table_key="")[0].dataType


def cast_column(source: Column, found: sql.DataType, wanted: pa.DataType) -> ColumnCast:
    """Cast a column, or raise ``IncompatibleTypes``."""
    if isinstance(wanted, pa.BaseExtensionType):
        wanted = wanted.storage_type
    if types.is_dictionary(wanted):
        wanted = wanted.value_type
    target = spark_type(wanted)
    if isinstance(found, sql.NullType):
        return ColumnCast(F.lit(None).cast(target), None)
    kinds = type_kind(found), type_kind(target)
    if not is_castable(*kinds):
        msg = f"is {found.simpleString()}, which does not become {wanted} by itself"
        raise IncompatibleTypes(msg)
    made = _NESTED.get(kinds[1] or "", _cast_scalar)(source, found, wanted)
    return _apply_limit(made, wanted)


def _cast_scalar(source: Column, found: sql.DataType, wanted: pa.DataType) -> ColumnCast:
    target = spark_type(wanted)
    if found == target:
        return ColumnCast(source, None)
    value = source.try_cast(target)
    exact = exact_condition(source, value, found, target)
    there = value.isNotNull() if exact is None else value.isNotNull() & exact
    return ColumnCast(value, source.isNull() | there)


def _cast_list(source: Column, found: sql.DataType, wanted: pa.DataType) -> ColumnCast:
    assert isinstance(found, sql.ArrayType)  # noqa: S101 - the kind said so
    field = wanted.value_field
    return _cast_items(source, found.elementType, field, F.transform, F.forall)


def _cast_items(
    source: Column,
    found: sql.DataType,
    field: pa.Field,
    change: Callable[[Column, Callable[[Column], Column]], Column],
    check: Callable[[Column, Callable[[Column], Column]], Column],
) -> ColumnCast:
    plain = cast_column(F.lit(None).cast(found), found, field.type)
    nothing = plain.fits is None and found == spark_type(field.type)
    value = (
        source
        if nothing
        else change(source, lambda item: cast_column(item, found, field.type).value)
    )
    if plain.fits is None and field.nullable:
        return ColumnCast(value, None)

    def holds(item: Column) -> Column:
        fits = cast_column(item, found, field.type).fits
        there = F.lit(True) if field.nullable else item.isNotNull()
        return there if fits is None else there & fits

    return ColumnCast(value, source.isNull() | check(source, holds))


def _cast_map(source: Column, found: sql.DataType, wanted: pa.DataType) -> ColumnCast:
    assert isinstance(found, sql.MapType)  # noqa: S101 - the kind said so
    key = pa.field("key", wanted.key_type, nullable=False)
    keys = _cast_items(F.map_keys(source), found.keyType, key, F.transform, F.forall)
    items = _cast_items(
        F.map_values(source), found.valueType, wanted.item_field, F.transform, F.forall
    )
    return ColumnCast(F.map_from_arrays(keys.value, items.value), _both(keys.fits, items.fits))


def _cast_struct(source: Column, found: sql.DataType, wanted: pa.DataType) -> ColumnCast:
    assert isinstance(found, sql.StructType)  # noqa: S101 - the kind said so
    fields = [wanted.field(index) for index in range(wanted.num_fields)]
    extra = set(found.names) - {field.name for field in fields}
    if extra:
        msg = f"has fields that {wanted} has not: {', '.join(sorted(extra))}"
        raise IncompatibleTypes(msg)
    values, fits = [], []
    for field in fields:
        if field.name not in found.names:
            if not field.nullable:
                msg = f"has no field {field.name!r}, which may not be null"
                raise IncompatibleTypes(msg)
            values.append(F.lit(None).cast(spark_type(field.type)).alias(field.name))
            continue
        part = source.getField(field.name)
        made = cast_column(part, found[field.name].dataType, field.type)
        values.append(made.value.alias(field.name))
        there = made.fits if field.nullable else _both(made.fits, part.isNotNull())
        if there is not None:
            fits.append(there)
    value = F.when(source.isNotNull(), F.struct(*values))
    return ColumnCast(value, (source.isNull() | reduce(Column.__and__, fits)) if fits else None)


_NESTED: Final[dict[str, Callable[[Column, sql.DataType, pa.DataType], ColumnCast]]] = {
    "list": _cast_list,
    "map": _cast_map,
    "struct": _cast_struct,
}


def _apply_limit(made: ColumnCast, wanted: pa.DataType) -> ColumnCast:
    """Reject values that Spark's type can hold and the table's type cannot."""
    limit = _value_limit(made.value, wanted)
    if limit is None:
        return made
    return ColumnCast(made.value, _both(made.fits, made.value.isNull() | limit))


def _value_limit(value: Column, wanted: pa.DataType) -> Column | None:
    if types.is_unsigned_integer(wanted):
        most = 2**wanted.bit_width - 1
        return (value >= 0) & (value <= F.lit(str(most)).cast("decimal(20,0)"))
    if types.is_fixed_size_binary(wanted):
        return F.octet_length(value).eqNullSafe(wanted.byte_width)
    if types.is_fixed_size_list(wanted):
        return F.size(value).eqNullSafe(wanted.list_size)
    if types.is_timestamp(wanted):
        return _timestamp_limit(value, wanted)
    if types.is_string(wanted) or types.is_large_string(wanted):
        return F.is_valid_utf8(value)
    return None


def _timestamp_limit(value: Column, wanted: pa.DataType) -> Column | None:
    if wanted.unit in _STEPS:
        steps = F.date_part(F.lit("SECOND"), value) * _STEPS[wanted.unit]
        return (steps % 1).eqNullSafe(F.lit(0))
    if wanted.unit == "ns":
        first, last = (F.lit(each).cast(spark_type(wanted)) for each in _NANOSECONDS)
        return (value >= first) & (value <= last)
    return None


def _both(one: Column | None, other: Column | None) -> Column | None:
    if one is None or other is None:
        return one if other is None else other
    return one & other
