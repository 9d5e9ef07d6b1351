"""What a value must become in another type, worked out value by value in plain Python.

Written apart from the code that it judges: with fractions, ``struct`` and integers only.
"""

from __future__ import annotations

import struct
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from pyarrow import types

REFUSED = object()
TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def number(value: Any, wanted: pa.DataType) -> Any:
    """Give the number that a type holds for a number, or ``REFUSED``."""
    if isinstance(value, float) and (value != value or value in (float("inf"), -float("inf"))):  # noqa: PLR0124
        return value if types.is_floating(wanted) else REFUSED
    exact = Fraction(value)
    if types.is_integer(wanted):
        signed = types.is_signed_integer(wanted)
        low = -(2 ** (wanted.bit_width - 1)) if signed else 0
        high = 2 ** (wanted.bit_width - signed) - 1
        return int(exact) if exact.denominator == 1 and low <= exact <= high else REFUSED
    if types.is_decimal(wanted):
        scaled = exact * Fraction(10) ** wanted.scale
        fits = scaled.denominator == 1 and abs(scaled) < 10**wanted.precision
        return Decimal(value) if fits else REFUSED
    form = {16: "<e", 32: "<f", 64: "<d"}[wanted.bit_width]
    try:
        (back,) = struct.unpack(form, struct.pack(form, exact))
    except OverflowError:
        return REFUSED
    return back if Fraction(back) == exact else REFUSED


def python_number(value: Any, wanted: pa.DataType) -> Any:
    """Do the same for a number of Python: it has no narrow floats, so the nearest one is meant."""
    if not (isinstance(value, float) and types.is_floating(wanted)) or value != value:  # noqa: PLR0124
        return number(value, wanted)
    form = {16: "<e", 32: "<f", 64: "<d"}[wanted.bit_width]
    try:
        (back,) = struct.unpack(form, struct.pack(form, value))
    except OverflowError:
        return REFUSED
    return back


def ticks(count: int, found: pa.DataType, wanted: pa.DataType) -> Any:
    """Give the count of ticks that another type has for a count of ticks, or ``REFUSED``."""
    moved = Fraction(count) / _a_day(found) * _a_day(wanted)
    if types.is_date64(wanted) and (moved / _a_day(wanted)).denominator != 1:
        return REFUSED
    bound = 2 ** (wanted.bit_width - 1)
    return int(moved) if moved.denominator == 1 and -bound <= moved < bound else REFUSED


def _a_day(type_: pa.DataType) -> int:
    if types.is_date32(type_):
        return 1
    return 86_400 * (1000 if types.is_date64(type_) else TICKS[type_.unit])
