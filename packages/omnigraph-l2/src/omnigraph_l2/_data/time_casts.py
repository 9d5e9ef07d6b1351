"""Turning dates, timestamps, times and durations into other units of the same point or span.

Always: the result has the wanted type and the same length; a value that has no equal there is
noted, and the column then comes out as nulls. Whether time zones agree was judged by the types.
"""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from omnigraph_l2._data.findings import Spot

__all__ = ["time_cast"]

_SECONDS_A_DAY = 86_400
_TICKS_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_INT64_MAX = 2**63 - 1
_NULL = pa.scalar(None, pa.int64())
_Cast = tuple[pa.Array, pa.DataType]


def time_cast(array: pa.Array, wanted: pa.DataType, spot: Spot) -> pa.Array:
    """Count the same points or spans in the unit of another type."""
    before, after = _ticks_a_day(array.type), _ticks_a_day(wanted)
    counted = _counted(array)
    if types.is_date64(wanted):  # it counts milliseconds, but whole days only
        counted = _rescaled(counted, Fraction(1, before), spot, of=(array, wanted))
        before = 1
    counted = _rescaled(counted, Fraction(after, before), spot, of=(array, wanted))
    if wanted.bit_width == 64:  # noqa: PLR2004 - the width that is counted in
        return counted.view(wanted)
    try:
        return counted.cast(pa.int32()).view(wanted)
    except pa.ArrowInvalid:
        beyond = pc.or_(pc.less(counted, -(2**31)), pc.greater(counted, 2**31 - 1))
        spot.refuse_where(beyond, array, f"{{}} does not fit {wanted}")
        return pa.nulls(len(array), wanted)


def _rescaled(counted: pa.Array, ratio: Fraction, spot: Spot, *, of: _Cast) -> pa.Array:
    """Count in another unit. What was noted is null, so that it is noted once."""
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


def _counted(array: pa.Array) -> pa.Array:
    narrow = array.type.bit_width == 32  # noqa: PLR2004
    return array.view(pa.int32()).cast(pa.int64()) if narrow else array.view(pa.int64())


def _ticks_a_day(type_: pa.DataType) -> int:
    if types.is_date32(type_):
        return 1
    if types.is_date64(type_):
        return _SECONDS_A_DAY * _TICKS_A_SECOND["ms"]
    return _SECONDS_A_DAY * _TICKS_A_SECOND[type_.unit]
