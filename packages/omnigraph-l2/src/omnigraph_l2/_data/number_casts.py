"""Turning numbers into other types of numbers where each value stays the same number.

Always: the result has the wanted type and the same length; a value that cannot be the same number
there is noted, and the column then comes out as nulls, for it will not be used.
"""

from __future__ import annotations

import decimal

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from omnigraph_l2._data.findings import Spot, short

__all__ = ["decimal_fits", "integer_bounds", "number_cast"]

_EXACT = decimal.Context(prec=400, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_ANY_INTEGER = pa.decimal256(20, 0)


def number_cast(array: pa.Array, wanted: pa.DataType, spot: Spot) -> pa.Array:
    """Turn integers, floats and decimals into each other (floats and decimals never)."""
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
    """Give the least and the greatest value of an integer type."""
    width = type_.bit_width
    if types.is_signed_integer(type_):
        return -(2 ** (width - 1)), 2 ** (width - 1) - 1
    return 0, 2**width - 1


def decimal_fits(value: decimal.Decimal, wanted: pa.DataType) -> bool:
    """Tell whether a decimal is one of the values of a decimal or an integer type."""
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
    changed = pc.or_(above, pc.not_equal(back, array))
    if spot.refuse_where(changed, array, f"{{}} cannot be a {wanted} without being rounded"):
        return pa.nulls(len(array), wanted)
    if wanted == pa.float64():
        return doubles
    narrow = doubles.cast(wanted, safe=False)
    changed = pc.not_equal(narrow.cast(pa.float64()), doubles)
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
    try:
        return array.cast(wanted)
    except pa.ArrowInvalid:
        values = enumerate(array.to_pylist())
        misfits = [(i, v) for i, v in values if v is not None and not decimal_fits(v, wanted)]
        for index, value in misfits:
            spot.refuse_entry(index, f"{short(value)} does not fit {wanted}")
        if not misfits:  # Arrow refuses what we would not: still no value is changed
            spot.refuse(f"holds values that Arrow cannot turn into {wanted}")
        return pa.nulls(len(array), wanted)
