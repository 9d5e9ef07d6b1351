"""Which values of one type of Spark's can be told in another one, as conditions in Spark.

Always: a value that passes is the same value afterwards; text passes where it says a value of the
wanted type in full. Which types go together at all is settled before, by ``kind_of``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql import types as sql

__all__ = ["goes_with", "kind_of", "same"]

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
_TOLD: Final = {"truth", "whole", "decimal", "date", "moment", "local", "time", "float"}
_GOES: Final = {
    *(("text", kind) for kind in _TOLD),
    *((kind, "text") for kind in ("truth", "whole", "decimal", "date")),
    ("whole", "float"), ("float", "whole"), ("whole", "decimal"), ("decimal", "whole"),
    ("date", "local"), ("local", "date"),
}  # fmt: skip

_BEYOND_LONG: Final = float(2**63)
_DATE: Final = r"[+-]?\d{4,}-\d{1,2}-\d{1,2}"
_CLOCK: Final = r"\d{1,2}:\d{1,2}(:\d{1,2}(\.\d{0,6}0*)?)?"
_ZONE: Final = r"([zZ]|[+-]\d{1,2}(:?\d{2}){0,2}|[A-Za-z][A-Za-z0-9_+/:-]*)"


def kind_of(type_: sql.DataType) -> str | None:
    """Name what values of a type are, whatever their width."""
    return next((kind for class_, kind in _KINDS if isinstance(type_, class_)), None)


def goes_with(found: str | None, wanted: str | None) -> bool:
    """Tell whether values of one kind can be values of another kind without being interpreted."""
    return found is not None and (found == wanted or (found, wanted) in _GOES)


def same(given: Column, value: Column, found: sql.DataType, wanted: sql.DataType) -> Column | None:
    """Tell where a value is what was given; None: wherever it is not null."""
    if kind_of(found) == "text":
        says = _SAYS.get(kind_of(wanted) or "")
        return None if says is None else says(given, value, wanted)
    back = value.try_cast(found).eqNullSafe(given)
    for one, other, column in ((found, wanted, value), (wanted, found, given)):
        if isinstance(one, sql.LongType) and kind_of(other) == "float":
            # Spark takes 2**63 for the greatest bigint, which it is not.
            back = back & (F.isnan(column) | (column < F.lit(_BEYOND_LONG)))
    return back


def _matches(given: Column, pattern: str) -> Column:
    return given.rlike(rf"^\s*{pattern}\s*$")


def _float(given: Column, value: Column, wanted: sql.DataType) -> Column:
    """Refuse what Java reads and others do not, and numbers that are too large or too small."""
    named = _matches(given, r"[+-]?(?i:inf|infinity|nan)")
    digits = _matches(given, r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
    infinite = F.abs(value) == F.lit(float("inf")).cast(wanted)
    vanished = (value == 0) & given.rlike(r"^[^eE]*[1-9]")
    return named | (digits & ~infinite & ~vanished)


def _decimal(given: Column, value: Column, wanted: sql.DataType) -> Column:
    del value
    scale = wanted.scale if isinstance(wanted, sql.DecimalType) else 0
    return _matches(given, rf"[+-]?(?=\.?\d)\d*(\.\d{{0,{scale}}}0*)?")


def _date(given: Column, value: Column, wanted: sql.DataType) -> Column:
    del value, wanted
    return _matches(given, _DATE)


def _moment(given: Column, value: Column, wanted: sql.DataType) -> Column:
    del value, wanted
    return _matches(given, rf"{_DATE}([T ]{_CLOCK}\s*{_ZONE}?)?")


def _local(given: Column, value: Column, wanted: sql.DataType) -> Column:
    del value, wanted
    return _matches(given, rf"{_DATE}([T ]{_CLOCK})?")


def _time(given: Column, value: Column, wanted: sql.DataType) -> Column:
    finest = sql.TimeType(6)
    fits = _matches(given, _CLOCK)
    return (
        fits if wanted == finest else fits & value.cast(finest).eqNullSafe(given.try_cast(finest))
    )


_SAYS: Final[dict[str, Callable[[Column, Column, sql.DataType], Column]]] = {
    "float": _float,
    "decimal": _decimal,
    "date": _date,
    "moment": _moment,
    "local": _local,
    "time": _time,
}
