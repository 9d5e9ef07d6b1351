"""Convert Python values to a column, wherever that changes no value.

Invariant: each Python type becomes the Arrow type that holds all of its values, and is then cast as
Arrow data is (``lossless_casts``). What pyarrow would guess or coerce never decides. So a date
among timestamps, bytes among strings or a bool among numbers are refused, row by row.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from omnigraph_l2._rows.cast_rules import entries_type, field_names, is_list, type_obstacles
from omnigraph_l2._rows.data_problems import Findings, Spot, short
from omnigraph_l2._rows.lossless_casts import (
    Within,
    built_list,
    built_struct,
    cast_values,
    make_guarded,
    refuse_lengths,
    refuse_nulls,
)
from omnigraph_l2._rows.number_and_time_casts import decimal_fits, exact_decimals

__all__ = ["python_column"]

Values = Sequence[Any]
_Make = Callable[[Values, pa.DataType, Spot], pa.Array]
_NOT_HELD = (pa.ArrowException, ValueError, TypeError, OverflowError)


def python_column(
    values: Values, field: pa.Field, findings: Findings, row_of: Callable[[int], int]
) -> pa.Array:
    """Convert the values of a column, ``None`` for null, to a table's field."""
    spot = Spot(field.name, findings, row_of=row_of)
    return make_guarded(lambda: _field(values, field, spot), len(values), field.type, spot)


def _field(values: Values, field: pa.Field, spot: Spot, within: Within = None) -> pa.Array:
    column = _column(values, field.type, spot)
    if not field.nullable and any(value is None for value in values):
        refuse_nulls(pa.array([None if value is None else True for value in values]), spot, within)
    return column


def _column(values: Values, wanted: pa.DataType, spot: Spot) -> pa.Array:
    """Convert values of any types, each type by itself, and put them together again."""
    if len(set(map(type, values)) - {type(None)}) <= 1 and not _told_apart_by_value(values):
        return _of_one_kind(values, wanted, spot)
    groups: dict[object, list[int]] = {}
    for index, value in enumerate(values):
        groups.setdefault(_kind(value), []).append(index)
    parts = [
        _of_one_kind([values[index] for index in rows], wanted, spot.choose(rows))
        for rows in groups.values()
    ]
    places = np.empty(len(values), dtype=np.int64)
    places[np.array(list(chain.from_iterable(groups.values())))] = np.arange(len(values))
    return pa.concat_arrays(parts).take(pa.array(places))


def _told_apart_by_value(values: Values) -> bool:
    first = next((value for value in values if value is not None), None)
    told_apart = dt.datetime | dt.timedelta | np.datetime64 | np.timedelta64
    return isinstance(first, told_apart | np.ndarray)


def _kind(value: Any) -> object:
    if isinstance(value, dt.datetime):
        return type(value), value.tzinfo is None, _precise(value).dtype
    if isinstance(value, dt.timedelta):
        return type(value), _precise(value).dtype
    if isinstance(value, np.generic):
        return value.dtype
    if isinstance(value, np.ndarray):
        return np.ndarray, value.dtype, value.ndim
    return type(value)


def _precise(value: Any) -> Any:
    """Return the values with the nanoseconds that only subclasses by pandas have."""
    if isinstance(value, dt.datetime) and hasattr(value, "to_datetime64"):
        return value.to_datetime64()
    if isinstance(value, dt.timedelta) and hasattr(value, "to_timedelta64"):
        return value.to_timedelta64()
    return np.empty(0, dtype=object)


def _of_one_kind(values: Values, wanted: pa.DataType, spot: Spot) -> pa.Array:
    first = next((value for value in values if value is not None), None)
    if isinstance(first, np.generic) and not isinstance(first, np.datetime64 | np.timedelta64):
        return _of_one_kind(_plain(values, np.generic.item), wanted, spot)
    if isinstance(first, np.ndarray) and (first.ndim != 1 or first.dtype == object):
        return _of_one_kind(_plain(values, np.ndarray.tolist), wanted, spot)
    nest = _nest(first, wanted)
    if nest is not None:
        return nest(values, wanted, spot)
    array = _arrow(values, first, wanted, spot)
    if any(True for _ in type_obstacles(spot.path, array.type, wanted)):
        return _refuse(values, lambda _: False, wanted, spot)
    return cast_values(array, wanted, spot)


def _plain(values: Values, make: Callable[[Any], Any]) -> Values:
    return [None if value is None else make(value) for value in values]


def _nest(first: Any, wanted: pa.DataType) -> _Make | None:
    if types.is_map(wanted) and isinstance(first, Mapping | list | tuple):
        return _maps
    if is_list(wanted) and isinstance(first, list | tuple):
        return _lists
    if types.is_struct(wanted) and isinstance(first, Mapping):
        return _structs
    return None


def _arrow(values: Values, first: Any, wanted: pa.DataType, spot: Spot) -> pa.Array:
    """Return values of one type as that type in Arrow, with nulls for those that were refused."""
    if first is None:
        return pa.nulls(len(values))
    for kinds, make in _MAKERS:
        if isinstance(first, kinds):
            return make(values, wanted, spot)
    return _refuse(values, lambda _: False, wanted, spot)


def _refuse(
    values: Values, fits: Callable[[Any], bool], wanted: pa.DataType, spot: Spot, reason: str = ""
) -> pa.Array:
    for index, value in enumerate(values):
        if value is not None and not fits(value):
            found = f"{type(value).__name__} {short(value)}"
            problem = f"{short(value)} {reason}" if reason else f"should be {wanted}, found {found}"
            spot.refuse_entry(index, problem)
    return pa.nulls(len(values), wanted)


def _times(values: Values, wanted: pa.DataType, spot: Spot) -> pa.Array:
    if any(value is not None and value.tzinfo for value in values):
        return _refuse(values, lambda value: value.tzinfo is None, wanted, spot)
    return pa.array(values, pa.time64("us"))


def _moments(values: Values, wanted: pa.DataType, spot: Spot) -> pa.Array:
    first = next(value for value in values if value is not None)
    given = values
    if isinstance(_precise(first), np.generic):
        given = _plain(values, _precise)
    try:
        array = pa.array(given)
    except _NOT_HELD:
        return _refuse(values, _is_held, wanted, spot)
    if array.null_count > sum(value is None for value in values):  # a NaT is not None
        return _refuse(values, _is_held, wanted, spot)
    if given is not values and getattr(first, "tzinfo", None) is not None:
        return array.cast(pa.timestamp(array.type.unit, "UTC"))
    return array


def _is_held(value: Any) -> bool:
    try:
        array = pa.array([value])
    except _NOT_HELD:
        return False
    return not array.null_count


def _floats(values: Values, wanted: pa.DataType) -> pa.Array:
    """Convert Python's floats. A narrow type gets the nearest value: Python has no such floats."""
    doubles = pa.array(values, pa.float64())
    if not types.is_floating(wanted):
        return doubles
    nearest = doubles.cast(wanted, safe=False)
    became_infinite = pc.and_(pc.is_inf(nearest), pc.is_finite(doubles))
    return pc.if_else(became_infinite, doubles, nearest.cast(pa.float64()))


def _integers(values: Values, wanted: pa.DataType, spot: Spot) -> pa.Array:
    for type_ in (pa.int64(), pa.uint64()):
        try:
            return pa.array(values, type_)
        except (OverflowError, pa.ArrowInvalid):
            continue
    if types.is_floating(wanted):
        rounded = f"cannot be a {wanted} without being rounded"
        _refuse(values, _is_a_double, wanted, spot, rounded)
        doubles = [None if v is None or not _is_a_double(v) else float(v) for v in values]
        return pa.array(doubles, pa.float64())
    if types.is_decimal(wanted) or types.is_integer(wanted):
        return _decimals(_plain(values, lambda value: decimal.Decimal(int(value))), wanted, spot)
    return _refuse(values, lambda _: False, wanted, spot)


def _is_a_double(value: int) -> bool:
    try:
        return float(value) == value
    except OverflowError:
        return False


def _decimals(values: Values, wanted: pa.DataType, spot: Spot) -> pa.Array:
    if not (types.is_decimal(wanted) or types.is_integer(wanted)):
        return _refuse(values, lambda _: False, wanted, spot)
    if not all(value is None or decimal_fits(value, wanted) for value in values):
        reason = f"does not fit {wanted}"
        return _refuse(values, lambda value: decimal_fits(value, wanted), wanted, spot, reason)
    return exact_decimals(values, wanted)


def _strings(values: Values, wanted: pa.DataType, spot: Spot) -> pa.Array:
    try:
        return pa.array(values, pa.large_string())
    except UnicodeEncodeError:
        return _refuse(values, _encodes, wanted, spot, "holds half a character (a surrogate)")


def _encodes(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _lists(values: Values, wanted: pa.DataType, spot: Spot) -> pa.Array:
    lengths = np.array([0 if value is None else len(value) for value in values], dtype=np.int64)
    flat = list(chain.from_iterable(value for value in values if value is not None))
    items = _field(flat, wanted.value_field, spot.items(lengths))
    nulls = _nulls(values)
    if types.is_fixed_size_list(wanted) and refuse_lengths(lengths, nulls, wanted, spot):
        return pa.nulls(len(values), wanted)
    return built_list(lengths, items, nulls, wanted)


def _maps(values: Values, wanted: pa.MapType, spot: Spot) -> pa.Array:
    pairs = [list(v.items()) if isinstance(v, Mapping) else v for v in values]
    for index, entries in enumerate(pairs):
        if entries is not None and any(
            not isinstance(pair, tuple | list) or len(pair) != 2  # noqa: PLR2004
            for pair in entries
        ):
            return _refuse(values[index : index + 1], lambda _: False, wanted, spot.choose([index]))
    entry = entries_type(wanted).value_type
    structs = [
        None if entries is None else [{"key": key, "value": value} for key, value in entries]
        for entries in pairs
    ]
    lengths = np.array([0 if v is None else len(v) for v in structs], dtype=np.int64)
    flat = list(chain.from_iterable(v for v in structs if v is not None))
    items = _structs(flat, entry, spot.items(lengths, suffix=""))
    return built_list(lengths, items, _nulls(values), wanted)


def _structs(values: Values, wanted: pa.StructType, spot: Spot) -> pa.Array:
    names = field_names(wanted)
    for index, value in enumerate(values):
        for name in () if value is None else sorted(value.keys() - set(names), key=str):
            spot.refuse_entry(index, f"has {name!r}, which is no field of {spot.path}")
    within = pa.array([value is not None for value in values], pa.bool_())
    children = [
        _field(
            [None if value is None else value.get(name) for value in values],
            wanted.field(index),
            spot.inside(name),
            within,
        )
        for index, name in enumerate(names)
    ]
    if not children:
        return pa.array(values, wanted)
    return built_struct(children, _nulls(values), wanted)


def _nulls(values: Values) -> pa.BooleanArray | None:
    if not any(value is None for value in values):
        return None
    return pc.invert(pa.array([value is not None for value in values], pa.bool_()))


_MAKERS: tuple[tuple[Any, _Make], ...] = (
    (bool, lambda values, _wanted, _spot: pa.array(values, pa.bool_())),
    (int, _integers),
    (float, lambda values, wanted, _spot: _floats(values, wanted)),
    (str, _strings),
    (bytes | bytearray | memoryview, lambda v, _wanted, _spot: pa.array(v, pa.large_binary())),
    (decimal.Decimal, _decimals),
    (dt.time, _times),
    (dt.date | dt.timedelta | np.datetime64 | np.timedelta64 | np.ndarray, _moments),
)
"""How values of a Python type become an Arrow type that holds them all."""
