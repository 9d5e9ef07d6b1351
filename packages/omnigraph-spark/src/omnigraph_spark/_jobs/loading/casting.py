"""A column of files in the type that a table wants, and where it holds what was found.

Always: ``value`` has Spark's type for the wanted one, or is null; ``fits`` is true where the value
is what was found, or both are null. Nothing is rounded, cut or interpreted.
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

from omnigraph_spark._jobs.loading.exactness import goes_with, kind_of, same
from omnigraph_spark._types import spark_schema

__all__ = ["Cast", "Unfit", "cast", "spark_type"]

_STEPS: Final = {"s": 1, "ms": 1000}
_NANOSECONDS: Final = ("1677-09-22", "2262-04-11")


class Unfit(Exception):
    """No value of a type can become one of another."""


@attrs.frozen
class Cast:
    """A column in its new type."""

    value: Column
    fits: Column | None
    """None: always."""


def spark_type(wanted: pa.DataType) -> sql.DataType:
    """Give Spark's type for one of a table; raises ``UnsupportedTypes``."""
    return spark_schema(pa.schema([("value", wanted)]), table_key="")[0].dataType


def cast(given: Column, found: sql.DataType, wanted: pa.DataType) -> Cast:
    """Bring a column into a type, or raise ``Unfit``."""
    if isinstance(wanted, pa.BaseExtensionType):
        wanted = wanted.storage_type
    if types.is_dictionary(wanted):
        wanted = wanted.value_type
    target = spark_type(wanted)
    if isinstance(found, sql.NullType):
        return Cast(F.lit(None).cast(target), None)
    kinds = kind_of(found), kind_of(target)
    if not goes_with(*kinds):
        msg = f"is {found.simpleString()}, which does not become {wanted} by itself"
        raise Unfit(msg)
    made = _NESTED.get(kinds[1] or "", _scalar)(given, found, wanted)
    return _limited(made, wanted)


def _scalar(given: Column, found: sql.DataType, wanted: pa.DataType) -> Cast:
    target = spark_type(wanted)
    if found == target:
        return Cast(given, None)
    value = given.try_cast(target)
    exact = same(given, value, found, target)
    there = value.isNotNull() if exact is None else value.isNotNull() & exact
    return Cast(value, given.isNull() | there)


def _list(given: Column, found: sql.DataType, wanted: pa.DataType) -> Cast:
    assert isinstance(found, sql.ArrayType)  # noqa: S101 - the kind said so
    field = wanted.value_field
    return _inside(given, found.elementType, field, F.transform, F.forall)


def _inside(
    given: Column,
    found: sql.DataType,
    field: pa.Field,
    change: Callable[[Column, Callable[[Column], Column]], Column],
    check: Callable[[Column, Callable[[Column], Column]], Column],
) -> Cast:
    plain = cast(F.lit(None).cast(found), found, field.type)
    nothing = plain.fits is None and found == spark_type(field.type)
    value = given if nothing else change(given, lambda item: cast(item, found, field.type).value)
    if plain.fits is None and field.nullable:
        return Cast(value, None)

    def holds(item: Column) -> Column:
        fits = cast(item, found, field.type).fits
        there = F.lit(True) if field.nullable else item.isNotNull()
        return there if fits is None else there & fits

    return Cast(value, given.isNull() | check(given, holds))


def _map(given: Column, found: sql.DataType, wanted: pa.DataType) -> Cast:
    assert isinstance(found, sql.MapType)  # noqa: S101 - the kind said so
    key = pa.field("key", wanted.key_type, nullable=False)
    keys = _inside(F.map_keys(given), found.keyType, key, F.transform, F.forall)
    items = _inside(F.map_values(given), found.valueType, wanted.item_field, F.transform, F.forall)
    return Cast(F.map_from_arrays(keys.value, items.value), _both(keys.fits, items.fits))


def _struct(given: Column, found: sql.DataType, wanted: pa.DataType) -> Cast:
    assert isinstance(found, sql.StructType)  # noqa: S101 - the kind said so
    fields = [wanted.field(index) for index in range(wanted.num_fields)]
    extra = set(found.names) - {field.name for field in fields}
    if extra:
        msg = f"has fields that {wanted} has not: {', '.join(sorted(extra))}"
        raise Unfit(msg)
    values, fits = [], []
    for field in fields:
        if field.name not in found.names:
            if not field.nullable:
                msg = f"has no field {field.name!r}, which may not be null"
                raise Unfit(msg)
            values.append(F.lit(None).cast(spark_type(field.type)).alias(field.name))
            continue
        part = given.getField(field.name)
        made = cast(part, found[field.name].dataType, field.type)
        values.append(made.value.alias(field.name))
        there = made.fits if field.nullable else _both(made.fits, part.isNotNull())
        if there is not None:
            fits.append(there)
    value = F.when(given.isNotNull(), F.struct(*values))
    return Cast(value, (given.isNull() | reduce(Column.__and__, fits)) if fits else None)


_NESTED: Final[dict[str, Callable[[Column, sql.DataType, pa.DataType], Cast]]] = {
    "list": _list,
    "map": _map,
    "struct": _struct,
}


def _limited(made: Cast, wanted: pa.DataType) -> Cast:
    """Refuse what Spark's type holds and the table's does not."""
    limit = _limit(made.value, wanted)
    if limit is None:
        return made
    return Cast(made.value, _both(made.fits, made.value.isNull() | limit))


def _limit(value: Column, wanted: pa.DataType) -> Column | None:
    if types.is_unsigned_integer(wanted):
        most = 2**wanted.bit_width - 1
        return (value >= 0) & (value <= F.lit(str(most)).cast("decimal(20,0)"))
    if types.is_fixed_size_binary(wanted):
        return F.octet_length(value).eqNullSafe(wanted.byte_width)
    if types.is_fixed_size_list(wanted):
        return F.size(value).eqNullSafe(wanted.list_size)
    if types.is_timestamp(wanted):
        return _moment_limit(value, wanted)
    if types.is_string(wanted) or types.is_large_string(wanted):
        return F.is_valid_utf8(value)
    return None


def _moment_limit(value: Column, wanted: pa.DataType) -> Column | None:
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
