"""Turning numbers into other types of numbers where each value stays the same number.

Always: the result has the wanted type and the same length; a value that cannot be the same number
there is noted, and the column then comes out as nulls, for it will not be used.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from omnigraph_l2._data.findings import Spot, short

__all__ = ["decimal_fits", "exact_decimals", "integer_bounds", "number_cast"]

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


def exact_decimals(values: Sequence[decimal.Decimal | None], wanted: pa.DataType) -> pa.Array:
    """Give decimals that fit as a column of decimals or integers."""
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
    result = _proven(array, wanted)
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


def _proven(array: pa.Array, wanted: pa.DataType) -> pa.Array | None:
    """Let Arrow do it, if it can be seen that it did: it wraps some decimals without a word."""
    try:
        result = array.cast(wanted)
        back = result.cast(_ANY_INTEGER) if types.is_integer(wanted) else result
        same = pc.all(pc.equal(back.cast(array.type), array), min_count=0).as_py()
    except pa.ArrowException:
        return None
    return result if same and result.null_count == array.null_count else None
