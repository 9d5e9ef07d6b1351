"""Turning dates, timestamps, times and durations into other units of the same point or span.

Always: the result has the wanted type and the same length; a value that has no equal there is
noted, and the column then comes out as nulls. Whether time zones agree was judged by the types.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from omnigraph_l2._data.findings import Spot

__all__ = ["time_cast"]

_SECONDS_A_DAY = 86_400
_TICKS_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_INT64_MAX = 2**63 - 1


def time_cast(array: pa.Array, wanted: pa.DataType, spot: Spot) -> pa.Array:
    """Count the same points or spans in the unit of another type."""
    before, after = _ticks_a_day(array.type), _ticks_a_day(wanted)
    if types.is_date(wanted) and not types.is_date32(wanted):
        days = time_cast(array, pa.date32(), spot)  # a date64 counts milliseconds, by whole days
        return pc.multiply(_counted(days), after).view(wanted)
    counted = _counted(array)
    if after >= before:
        counted = _finer(counted, after // before, array, wanted, spot)
    else:
        counted = _coarser(counted, before // after, array, wanted, spot)
    if wanted.bit_width == 64:  # noqa: PLR2004 - the width that is counted in
        return counted.view(wanted)
    try:
        return counted.cast(pa.int32()).view(wanted)
    except pa.ArrowInvalid:
        beyond = pc.or_(pc.less(counted, -(2**31)), pc.greater(counted, 2**31 - 1))
        spot.refuse_where(beyond, array, f"{{}} does not fit {wanted}")
        return pa.nulls(len(array), wanted)


def _finer(
    counted: pa.Array, factor: int, array: pa.Array, wanted: pa.DataType, spot: Spot
) -> pa.Array:
    if factor == 1:
        return counted
    most = _INT64_MAX // factor
    beyond = pc.or_(pc.less(counted, -most), pc.greater(counted, most))
    if spot.refuse_where(beyond, array, f"{{}} does not fit {wanted}"):
        return pa.nulls(len(array), pa.int64())
    return pc.multiply(counted, factor)


def _coarser(
    counted: pa.Array, factor: int, array: pa.Array, wanted: pa.DataType, spot: Spot
) -> pa.Array:
    result = pc.divide(counted, factor)
    changed = pc.not_equal(pc.multiply(result, factor), counted)
    if spot.refuse_where(changed, array, f"{{}} cannot be a {wanted} without being rounded"):
        return pa.nulls(len(array), pa.int64())
    return result


def _counted(array: pa.Array) -> pa.Array:
    narrow = array.type.bit_width == 32  # noqa: PLR2004
    return array.view(pa.int32()).cast(pa.int64()) if narrow else array.view(pa.int64())


def _ticks_a_day(type_: pa.DataType) -> int:
    if types.is_date32(type_):
        return 1
    if types.is_date64(type_):
        return _SECONDS_A_DAY * _TICKS_A_SECOND["ms"]
    return _SECONDS_A_DAY * _TICKS_A_SECOND[type_.unit]
