"""Numbers come out as the same numbers, or not at all."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from cast_oracle import REFUSED, number, python_number
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import types
from row_input import DataProblems, incoming

INTEGERS = [getattr(pa, f"{sign}int{width}")() for sign in ("", "u") for width in (8, 16, 32, 64)]
FLOATS = [pa.float16(), pa.float32(), pa.float64()]
DECIMALS = [
    pa.decimal32(6, 2),
    pa.decimal64(15, 0),
    pa.decimal128(5, 2),
    pa.decimal128(38, 37),
    pa.decimal128(20, -3),
    pa.decimal256(76, 10),
    pa.decimal256(40, 0),
]


def values_of(type_: pa.DataType) -> st.SearchStrategy[Any]:
    """Values of a type, its edges and those of narrower types often among them."""
    if types.is_integer(type_):
        signed = types.is_signed_integer(type_)
        low = -(2 ** (type_.bit_width - 1)) if signed else 0
        high = 2 ** (type_.bit_width - signed) - 1
        edges = [s * 2**p + d for p in range(65) for d in (-1, 0, 1) for s in (1, -1)]
        near = [edge for edge in edges if low <= edge <= high]
        return st.one_of(st.sampled_from(near), st.integers(low, high))
    if types.is_floating(type_):
        wide = st.floats(width=type_.bit_width)
        whole = st.sampled_from([s * 2.0**p for p in range(16) for s in (1, -1)])
        return st.one_of(wide, whole) if type_.bit_width < 64 else st.one_of(wide, _edges(), whole)
    unscaled = st.integers(-(10**type_.precision) + 1, 10**type_.precision - 1)
    short = st.integers(-999, 999)
    return st.one_of(unscaled, short, short.map(lambda n: n * 100)).map(
        lambda n: Decimal((n < 0, tuple(map(int, str(abs(n)))), -type_.scale))
    )


def _edges() -> st.SearchStrategy[float]:
    powers = [7, 8, 15, 16, 31, 32, 52, 53, 63, 64]
    return st.sampled_from(
        [s * (2.0**p + d) for p in powers for d in (-1, 0, 0.5, 1) for s in (1, -1)]
    )


@st.composite
def pairs(draw: st.DrawFn) -> tuple[pa.DataType, pa.DataType, list[Any]]:
    """Two types of numbers that may be turned into each other, and values of the first."""
    found = draw(st.sampled_from(INTEGERS + FLOATS + DECIMALS))
    others = INTEGERS + (DECIMALS if not types.is_floating(found) else [])
    others = others + (FLOATS if not types.is_decimal(found) else [])
    wanted = draw(st.sampled_from(others))
    return found, wanted, draw(st.lists(st.none() | values_of(found), max_size=6))


def same(one: Any, other: Any) -> bool:
    """Tell whether two numbers are one."""
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other) and type(one) is type(other)


@given(pairs())
@example((pa.int64(), pa.float64(), [2**60, 2**63 - 1]))
@example((pa.uint64(), pa.float32(), [2**64 - 1]))
@example((pa.float64(), pa.int64(), [2.0**63, -(2.0**63)]))
@example((pa.float64(), pa.uint64(), [2.0**64]))
@example((pa.float64(), pa.float32(), [1e300, math.inf, math.nan]))
def test_each_number_stays_itself_or_is_refused(
    case: tuple[pa.DataType, pa.DataType, list[Any]],
) -> None:
    """A cast gives what plain arithmetic says, and names each row of which it cannot."""
    found, wanted, values = case
    array = pa.array(values, found)
    expected = [None if value is None else number(value, wanted) for value in array.to_pylist()]
    stream = incoming(pa.table({"n": array}), pa.schema([pa.field("n", wanted)]), what="t", ids=())
    bad = [row for row, value in enumerate(expected) if value is REFUSED]
    if bad:
        with pytest.raises(DataProblems) as caught:
            stream.reader().read_all()
        assert [problem.row for problem in caught.value.problems] == bad
    else:
        result = stream.reader().read_all()
        assert result.schema == pa.schema([pa.field("n", wanted)])
        got = result.column(0).to_pylist()
        assert all(map(same, got, expected)), (got, expected)


def edges(type_: pa.DataType) -> list[Any]:
    """Give the values of a type at which others end, or lose digits."""
    near = [s * 2**p + d for p in (0, 7, 8, 11, 15, 16, 24, 31, 32, 53, 63, 64) for d in (-1, 0, 1)
            for s in (1, -1)]  # fmt: skip
    if types.is_integer(type_):
        return [n for n in near if number(n, type_) is n or number(n, type_) == n]
    if types.is_floating(type_):
        floats = [float(n) for n in near] + [0.5, 0.1, 65504.0, 65520.0, 1e39, math.inf, math.nan]
        return [f for f in floats if number(f, type_) is not REFUSED]
    powers = [Decimal(s).scaleb(p) for p in range(-8, 20) for s in (1, -1)]
    return [d for d in [*powers, *map(Decimal, near)] if number(d, type_) is not REFUSED]


NUMBERS = INTEGERS + FLOATS + DECIMALS
CASTS = [
    (found, wanted)
    for found in NUMBERS
    for wanted in NUMBERS
    if not (found in FLOATS and wanted in DECIMALS)
    if not (found in DECIMALS and wanted in FLOATS)
]


@pytest.mark.parametrize(("found", "wanted"), CASTS, ids=str)
def test_the_edges_of_each_type_are_where_arithmetic_says(
    found: pa.DataType, wanted: pa.DataType
) -> None:
    """Beside values that fit, exactly those that do not are named; the others stay themselves."""
    values = pa.array(edges(found), found).to_pylist()
    good = [value for value in values if number(value, wanted) is not REFUSED]
    bad = [value for value in values if number(value, wanted) is REFUSED]
    schema = pa.schema([pa.field("n", wanted)])
    kept = incoming(pa.table({"n": pa.array(good, found)}), schema, what="t", ids=())
    got = kept.reader().read_all().column(0).to_pylist()
    assert all(map(same, got, [number(value, wanted) for value in good]))
    for first in range(0, len(bad), 20):
        part = [*good, *bad[first : first + 20]]
        for data, judge in (
            (pa.table({"n": pa.array(part, found)}), number),
            ([{"n": value} for value in part], python_number),
        ):
            refused = [row for row, value in enumerate(part) if judge(value, wanted) is REFUSED]
            if refused:
                with pytest.raises(DataProblems) as caught:
                    list(incoming(data, schema, what="t", ids=()))
                assert [problem.row for problem in caught.value.problems] == refused


@pytest.mark.parametrize(
    ("found", "wanted"), [(pa.float64(), pa.decimal128(9, 2)), (pa.decimal128(9, 2), pa.float64())]
)
def test_floats_and_decimals_are_not_mixed(found: pa.DataType, wanted: pa.DataType) -> None:
    """A float is seldom the decimal that was meant: the types alone refuse it."""
    empty = pa.table({"n": pa.array([], found)})
    with pytest.raises(DataProblems, match="should be"):
        incoming(empty, pa.schema([pa.field("n", wanted)]), what="t", ids=())


@given(
    st.lists(
        st.none() | st.integers(-(2**70), 2**70) | st.floats() | st.decimals(allow_nan=True),
        max_size=5,
    ),
    st.sampled_from(INTEGERS + FLOATS + DECIMALS),
)
@example([2049, -(2**63) - 1], pa.float16())
def test_python_numbers_stay_themselves_or_are_refused(
    values: list[Any], wanted: pa.DataType
) -> None:
    """Numbers of any Python type, mixed in one column, are judged one by one."""
    crossing = float if types.is_decimal(wanted) else Decimal if types.is_floating(wanted) else None
    expected = [
        None
        if value is None
        else REFUSED
        if (crossing is not None and isinstance(value, crossing))
        or (isinstance(value, Decimal) and not value.is_finite())
        else python_number(value, wanted)
        for value in values
    ]
    rows = [{"n": value} for value in values]
    stream = incoming(rows, pa.schema([pa.field("n", wanted)]), what="t", ids=())
    bad = {row for row, value in enumerate(expected) if value is REFUSED}
    if bad:
        with pytest.raises(DataProblems) as caught:
            stream.reader().read_all()
        assert {problem.row for problem in caught.value.problems} == bad
    else:
        got = stream.reader().read_all().column(0).to_pylist()
        assert all(map(same, got, expected)), (got, expected)
