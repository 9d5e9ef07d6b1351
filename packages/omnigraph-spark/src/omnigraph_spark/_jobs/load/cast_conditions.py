"""Conditions in Spark SQL under which a value keeps its meaning in another type.

Invariant: a value that passes is unchanged by the cast. Text passes if it is a complete literal of
the wanted type. ``is_castable`` decides beforehand which types may be combined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql import types as sql

__all__ = ["exact_condition", "is_castable", "type_kind"]

_KINDS: Final[tuple[tuple[type[sql.DataType] | tuple[type[sql.DataType], ...], str], ...]] = (
    (sql.StringType, "text"),
    (sql.BooleanType, "truth"),
    (sql.IntegralType, "whole"),
    ((sql.FloatType, sql.DoubleType), "float"),
    (sql.DecimalType, "decimal"),
    (sql.DateType, "date"),
    (sql.TimestampType, "moment"),
    (sql.TimestampNTZType, "local"),
    (sql.TimeType, "time"),
    (sql.DayTimeIntervalType, "duration"),
    (sql.BinaryType, "bytes"),
    (sql.ArrayType, "list"),
    (sql.StructType, "struct"),
    (sql.MapType, "map"),
)
_FROM_TEXT: Final = {"truth", "whole", "decimal", "date", "moment", "local", "time", "float"}
_CASTABLE: Final = {
    *(("text", kind) for kind in _FROM_TEXT),
    *((kind, "text") for kind in ("truth", "whole", "decimal", "date")),
    ("whole", "float"), ("float", "whole"), ("whole", "decimal"), ("decimal", "whole"),
    ("date", "local"), ("local", "date"),
}  # fmt: skip

_BEYOND_LONG: Final = float(2**63)
_DATE: Final = r"[+-]?\d{4,}-\d{1,2}-\d{1,2}"
_CLOCK: Final = r"\d{1,2}:\d{1,2}(:\d{1,2}(\.\d{0,6}0*)?)?"
_ZONE: Final = r"([zZ]|[+-]\d{1,2}(:?\d{2}){0,2}|[A-Za-z][A-Za-z0-9_+/:-]*)"


def type_kind(type_: sql.DataType) -> str | None:
    """Return the kind of a type, independent of its width."""
    return next((kind for class_, kind in _KINDS if isinstance(type_, class_)), None)


def is_castable(found: str | None, wanted: str | None) -> bool:
    """Return whether values of one kind can be values of another without interpretation."""
    return found is not None and (found == wanted or (found, wanted) in _CASTABLE)


def exact_condition(
    source: Column, value: Column, found: sql.DataType, wanted: sql.DataType
) -> Column | None:
    """Return where a cast is exact; None if it is exact wherever it is not null."""
    if type_kind(found) == "text":
        is_literal = _LITERALS.get(type_kind(wanted) or "")
        return None if is_literal is None else is_literal(source, value, wanted)
    back = value.try_cast(found).eqNullSafe(source)
    for one, other, column in ((found, wanted, value), (wanted, found, source)):
        if isinstance(one, sql.LongType) and type_kind(other) == "float":
            # Spark takes 2**63 for the greatest bigint, which it is not.
            back = back & (F.isnan(column) | (column < F.lit(_BEYOND_LONG)))
    return back


def _matches(source: Column, pattern: str) -> Column:
    return source.rlike(rf"^\s*{pattern}\s*$")


def _float(source: Column, value: Column, wanted: sql.DataType) -> Column:
    """Reject literals that only Java accepts, and numbers that overflow or underflow."""
    named = _matches(source, r"[+-]?(?i:inf|infinity|nan)")
    digits = _matches(source, r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
    infinite = F.abs(value) == F.lit(float("inf")).cast(wanted)
    vanished = (value == 0) & source.rlike(r"^[^eE]*[1-9]")
    return named | (digits & ~infinite & ~vanished)


def _decimal(source: Column, value: Column, wanted: sql.DataType) -> Column:
    del value
    scale = wanted.scale if isinstance(wanted, sql.DecimalType) else 0
    return _matches(source, rf"[+-]?(?=\.?\d)\d*(\.\d{{0,{scale}}}0*)?")


def _date(source: Column, value: Column, wanted: sql.DataType) -> Column:
    del value, wanted
    return _matches(source, _DATE)


def _moment(source: Column, value: Column, wanted: sql.DataType) -> Column:
    del value, wanted
    return _matches(source, rf"{_DATE}([T ]{_CLOCK}\s*{_ZONE}?)?")


def _local(source: Column, value: Column, wanted: sql.DataType) -> Column:
    del value, wanted
    return _matches(source, rf"{_DATE}([T ]{_CLOCK})?")


def _time(source: Column, value: Column, wanted: sql.DataType) -> Column:
    finest = sql.TimeType(6)
    fits = _matches(source, _CLOCK)
    return (
        fits if wanted == finest else fits & value.cast(finest).eqNullSafe(source.try_cast(finest))
    )


_LITERALS: Final[dict[str, Callable[[Column, Column, sql.DataType], Column]]] = {
    "float": _float,
    "decimal": _decimal,
    "date": _date,
    "moment": _moment,
    "local": _local,
    "time": _time,
}
