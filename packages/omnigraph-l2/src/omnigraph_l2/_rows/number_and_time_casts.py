"""Cast numbers, dates, timestamps, times and durations where each value stays the same.

A number stays the same number, a date or time the same point or span in another unit.
``cast_rules`` has checked before that time zones agree.

Invariant: the result has the wanted type and the same length. A value that has no equal in that
type is noted; the column then becomes nulls, because it is not used.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from fractions import Fraction

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from omnigraph_l2._rows.data_problems import Spot, short

__all__ = ["decimal_fits", "exact_decimals", "integer_bounds", "number_cast", "time_cast"]

_EXACT = decimal.Context(prec=400, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_ANY_INTEGER = pa.decimal256(20, 0)


def number_cast(array: pa.Array, wanted: pa.DataType, spot: Spot) -> pa.Array:
    """Cast integers, floats and decimals to each other (but not floats and decimals)."""
    found = array.type
    if types.is_decimal(found) or types.is_decimal(wanted):
        return _decimals(array, wanted, spot)
    if types.is_integer(found) and types.is_integer(wanted):
        return _integers(array, wanted, spot)
    if types.is_floating(found) and types.is_floating(wanted):
        return _floats(array, wanted, spot)
    if types.is_integer(found):
        return _floats_of_integers(array, wanted, spot)
    return _integers_of_floats(array, wanted, spot)


def integer_bounds(type_: pa.DataType) -> tuple[int, int]:
    """Return the smallest and the largest value of an integer type."""
    width = type_.bit_width
    if types.is_signed_integer(type_):
        return -(2 ** (width - 1)), 2 ** (width - 1) - 1
    return 0, 2**width - 1


def decimal_fits(value: decimal.Decimal, wanted: pa.DataType) -> bool:
    """Return whether a decimal is a value of a decimal or an integer type."""
    if not value.is_finite():
        return False
    digits = 0 if types.is_integer(wanted) else wanted.scale
    exponent = int(value.as_tuple().exponent)
    if value and not -_EXACT.prec < value.adjusted() + digits < _EXACT.prec:
        return False
    if value and exponent + digits < -_EXACT.prec:
        value = value.normalize(_EXACT)
    scaled = value.scaleb(digits, _EXACT)
    if scaled != scaled.to_integral_value(context=_EXACT):
        return False
    if types.is_integer(wanted):
        low, high = integer_bounds(wanted)
        return low <= scaled <= high
    fits: bool = abs(int(scaled)) < 10**wanted.precision
    return fits


def exact_decimals(values: Sequence[decimal.Decimal | None], wanted: pa.DataType) -> pa.Array:
    """Return decimals that fit as a column of decimals or integers."""
    if types.is_integer(wanted):
        return pa.array([None if value is None else int(value) for value in values], wanted)
    step = decimal.Decimal(1).scaleb(-wanted.scale, _EXACT)
    exact = [None if value is None else value.quantize(step, context=_EXACT) for value in values]
    return pa.array(exact, wanted)


def _not_there(wanted: pa.DataType) -> str:
    return f"{{}} does not fit {wanted}"


def _integers(array: pa.Array, wanted: pa.DataType, spot: Spot) -> pa.Array:
    try:
        return array.cast(wanted)
    except pa.ArrowInvalid:
        low, high = integer_bounds(wanted)
        least, most = integer_bounds(array.type)
        too_low = pc.less(array, pa.scalar(max(low, least), array.type))
        too_high = pc.greater(array, pa.scalar(min(high, most), array.type))
        spot.refuse_where(pc.or_(too_low, too_high), array, _not_there(wanted))
        return pa.nulls(len(array), wanted)


def _floats(array: pa.Array, wanted: pa.DataType, spot: Spot) -> pa.Array:
    if wanted.bit_width >= array.type.bit_width:
        return array.cast(wanted)
    given = array.cast(pa.float64())
    result = array.cast(wanted, safe=False)
    changed = pc.and_not(pc.not_equal(result.cast(pa.float64()), given), pc.is_nan(given))
    if spot.refuse_where(changed, array, f"{{}} cannot be a {wanted} without being rounded"):
        return pa.nulls(len(array), wanted)
    return result


def _floats_of_integers(array: pa.Array, wanted: pa.DataType, spot: Spot) -> pa.Array:
    doubles = array.cast(pa.float64(), safe=False)
    _, most = integer_bounds(array.type)
    above = pc.greater_equal(doubles, float(most + 1))  # by rounding; a power of two is exact
    back = pc.if_else(above, 0.0, doubles).cast(array.type, safe=False)
    narrow = doubles.cast(wanted, safe=False)
    narrowed = pc.not_equal(narrow.cast(pa.float64()), doubles)
    changed = pc.or_(pc.or_(above, pc.not_equal(back, array)), narrowed)
    if spot.refuse_where(changed, array, f"{{}} cannot be a {wanted} without being rounded"):
        return pa.nulls(len(array), wanted)
    return narrow


def _integers_of_floats(array: pa.Array, wanted: pa.DataType, spot: Spot) -> pa.Array:
    doubles = array.cast(pa.float64())
    low, high = integer_bounds(wanted)
    within = pc.and_(
        pc.greater_equal(doubles, float(low)),
        pc.less(doubles, float(high + 1)),  # a power of two, and therefore exact
    )
    whole = pc.and_(within, pc.equal(pc.trunc(doubles), doubles))
    if spot.refuse_where(pc.invert(whole), array, _not_there(wanted)):
        return pa.nulls(len(array), wanted)
    return doubles.cast(wanted, safe=False)


def _decimals(array: pa.Array, wanted: pa.DataType, spot: Spot) -> pa.Array:
    if types.is_integer(array.type):
        array = array.cast(_ANY_INTEGER)
    result = _cast_proven(array, wanted)
    if result is not None:
        return result
    values = array.to_pylist()
    misfits = [
        (n, v) for n, v in enumerate(values) if v is not None and not decimal_fits(v, wanted)
    ]
    for index, value in misfits:
        spot.refuse_entry(index, f"{short(value)} does not fit {wanted}")
    if misfits:
        return pa.nulls(len(array), wanted)
    return exact_decimals(values, wanted)


def _cast_proven(array: pa.Array, wanted: pa.DataType) -> pa.Array | None:
    """Cast by Arrow and check the result, because Arrow wraps some decimals silently."""
    try:
        result = array.cast(wanted)
        back = result.cast(_ANY_INTEGER) if types.is_integer(wanted) else result
        same = pc.all(pc.equal(back.cast(array.type), array), min_count=0).as_py()
    except pa.ArrowException:
        return None
    return result if same and result.null_count == array.null_count else None


_SECONDS_A_DAY = 86_400
_TICKS_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_INT64_MAX = 2**63 - 1
_NULL = pa.scalar(None, pa.int64())
_Cast = tuple[pa.Array, pa.DataType]


def time_cast(array: pa.Array, wanted: pa.DataType, spot: Spot) -> pa.Array:
    """Cast points or spans to the unit of another type."""
    before, after = _ticks_a_day(array.type), _ticks_a_day(wanted)
    counted = _as_integers(array)
    if types.is_date64(wanted):  # it counts milliseconds, but whole days only
        counted = _rescale(counted, Fraction(1, before), spot, of=(array, wanted))
        before = 1
    counted = _rescale(counted, Fraction(after, before), spot, of=(array, wanted))
    if wanted.bit_width == 64:  # noqa: PLR2004 - the width that is counted in
        return counted.view(wanted)
    try:
        return counted.cast(pa.int32()).view(wanted)
    except pa.ArrowInvalid:
        beyond = pc.or_(pc.less(counted, -(2**31)), pc.greater(counted, 2**31 - 1))
        spot.refuse_where(beyond, array, f"{{}} does not fit {wanted}")
        return pa.nulls(len(array), wanted)


def _rescale(counted: pa.Array, ratio: Fraction, spot: Spot, *, of: _Cast) -> pa.Array:
    """Convert to another unit. A noted value becomes null, so that it is noted only once."""
    array, wanted = of
    if ratio >= 1:
        factor = int(ratio)
        most = _INT64_MAX // factor
        bad = pc.or_(pc.less(counted, -most - (factor == 1)), pc.greater(counted, most))
        spot.refuse_where(bad, array, f"{{}} does not fit {wanted}")
        return pc.multiply(pc.if_else(bad, _NULL, counted), factor)
    factor = int(1 / ratio)
    result = pc.divide(counted, factor)
    bad = pc.not_equal(pc.multiply(result, factor), counted)
    spot.refuse_where(bad, array, f"{{}} cannot be a {wanted} without being rounded")
    return pc.if_else(bad, _NULL, result)


def _as_integers(array: pa.Array) -> pa.Array:
    narrow = array.type.bit_width == 32  # noqa: PLR2004
    return array.view(pa.int32()).cast(pa.int64()) if narrow else array.view(pa.int64())


def _ticks_a_day(type_: pa.DataType) -> int:
    if types.is_date32(type_):
        return 1
    if types.is_date64(type_):
        return _SECONDS_A_DAY * _TICKS_A_SECOND["ms"]
    return _SECONDS_A_DAY * _TICKS_A_SECOND[type_.unit]
