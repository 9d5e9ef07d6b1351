"""Values of every type that ``property_types`` knows, with a taste for the awkward ones.

Invariant: what is drawn can be put into an Arrow array of the type, exactly. Unless
``beyond_python`` is set, every date and time can be read back as a Python object without pandas.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from omnigraph_testing._extras import needs_graph
from omnigraph_testing.errors import InvalidOption

__all__ = ["ids", "values"]

_DAY = 86_400
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, counted from 1970
_LONGEST_SPAN = 999_999_999 * _DAY  # of datetime.timedelta, in seconds
_IN_ONE_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_INT32 = (-(2**31), 2**31 - 1)
_INT64 = (-(2**63), 2**63 - 1)
_LONGEST_LIST = 3
_EXACTLY = Context(prec=80)
_TRICKY_TEXTS = ("", " ", "\0", "a\0b", "é", "e\u0301", "\U0001f600", "\ufeff", "\u202e", "ß", "İ")
_TRICKY_BYTES = (b"", b"\0", b"\xff" * 8)


def ids() -> SearchStrategy[str]:
    """Ids of rows: short plain ones, and any text that UTF-8 can write, the empty one included."""
    return st.from_regex(r"[a-z][0-9]{0,3}", fullmatch=True) | _texts()


def values(
    type_: Any, *, nullable: bool = True, beyond_python: bool = False
) -> SearchStrategy[Any]:
    """Values of a pyarrow type, in a form that ``pyarrow.array(…, type=type_)`` takes."""
    with needs_graph("omnigraph_testing.strategies"):
        import pyarrow as pa  # noqa: PLC0415 - some strategies work without it

    for test, make in _MAKERS:
        if getattr(pa.types, test)(type_):
            found = make(type_, beyond_python)
            return st.none() | found if nullable else found
    raise InvalidOption(
        option="the type of a property",
        found=str(type_),
        expected="one that property_types() can draw; bring a strategy of your own for others",
    )


def _texts(*_: object) -> SearchStrategy[str]:
    return st.sampled_from([*_TRICKY_TEXTS, "'\"\\`$%"]) | st.text(max_size=12)


def _bytes(*_: object) -> SearchStrategy[bytes]:
    return st.sampled_from(_TRICKY_BYTES) | st.binary(max_size=12)


def _fixed_bytes(type_: Any, _: bool) -> SearchStrategy[bytes]:  # noqa: FBT001
    return st.binary(min_size=type_.byte_width, max_size=type_.byte_width)


def _integers(type_: Any, _: bool) -> SearchStrategy[int]:  # noqa: FBT001
    least = -(2 ** (type_.bit_width - 1)) if str(type_).startswith("int") else 0
    return _spread(least, least + 2**type_.bit_width - 1)


def _decimals(type_: Any, _: bool) -> SearchStrategy[Decimal]:  # noqa: FBT001
    most = 10**type_.precision - 1
    return _spread(-most, most).map(lambda number: Decimal(number).scaleb(-type_.scale, _EXACTLY))


def _structs(type_: Any, beyond: bool) -> SearchStrategy[Any]:  # noqa: FBT001
    return st.fixed_dictionaries(
        {
            field.name: values(field.type, nullable=field.nullable, beyond_python=beyond)
            for field in type_
        }
    )


def _lists(type_: Any, beyond: bool) -> SearchStrategy[Any]:  # noqa: FBT001
    item = type_.value_field
    size = getattr(type_, "list_size", None)
    return st.lists(
        values(item.type, nullable=item.nullable, beyond_python=beyond),
        min_size=size or 0,
        max_size=_LONGEST_LIST if size is None else size,
    )


def _days(_: Any, beyond: bool) -> SearchStrategy[int]:  # noqa: FBT001
    return _spread(*_INT32) if beyond else _spread(_FIRST_DAY, _LAST_DAY)


def _days_in_milliseconds(*_: object) -> SearchStrategy[int]:
    return _spread(_FIRST_DAY, _LAST_DAY).map(lambda days: days * _DAY * 1_000)


def _times(type_: Any, beyond: bool) -> SearchStrategy[int]:  # noqa: FBT001
    return _moments(type_, 0, _DAY * _IN_ONE_SECOND[type_.unit] - 1, beyond=beyond)


def _timestamps(type_: Any, beyond: bool) -> SearchStrategy[int]:  # noqa: FBT001
    scale = _DAY * _IN_ONE_SECOND[type_.unit]
    if beyond:
        return _spread(*_INT64)
    # A day off either end, so that no time zone leads out of Python's years.
    return _moments(type_, (_FIRST_DAY + 1) * scale, _LAST_DAY * scale - 1, beyond=beyond)


def _durations(type_: Any, beyond: bool) -> SearchStrategy[int]:  # noqa: FBT001
    if beyond:
        return _spread(*_INT64)
    most = _LONGEST_SPAN * _IN_ONE_SECOND[type_.unit]
    return _moments(type_, -most, most, beyond=beyond)


def _moments(type_: Any, least: int, most: int, *, beyond: bool) -> SearchStrategy[int]:
    """Draw what fits into 64 bits; of nanoseconds only whole microseconds, as Python knows them."""
    step = 1_000 if type_.unit == "ns" and not beyond else 1
    least, most = max(least, _INT64[0]), min(most, _INT64[1])
    return _spread(-(-least // step), most // step).map(lambda number: number * step)


def _spread(least: int, most: int) -> SearchStrategy[int]:
    ends = [number for number in (0, 1, -1, least, most) if least <= number <= most]
    return st.sampled_from(ends) | st.integers(least, most)


_MAKERS: tuple[tuple[str, Callable[[Any, bool], SearchStrategy[Any]]], ...] = (
    ("is_integer", _integers),
    ("is_float32", lambda *_: st.floats(width=32)),
    ("is_float64", lambda *_: st.floats()),
    ("is_boolean", lambda *_: st.booleans()),
    ("is_string", _texts),
    ("is_binary", _bytes),
    ("is_fixed_size_binary", _fixed_bytes),
    ("is_decimal128", _decimals),
    ("is_date32", _days),
    ("is_date64", _days_in_milliseconds),
    ("is_time", _times),
    ("is_timestamp", _timestamps),
    ("is_duration", _durations),
    ("is_struct", _structs),
    ("is_list", _lists),
    ("is_fixed_size_list", _lists),
)
