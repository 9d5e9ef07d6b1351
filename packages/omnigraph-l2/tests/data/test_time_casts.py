"""Points in time and spans come out as the same ones, or not at all."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from cast_oracle import REFUSED, TICKS, ticks
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import types
from row_input import DataProblems, incoming

DATES = [pa.date32(), pa.date64()]
NAIVE = [pa.timestamp(unit) for unit in TICKS]
ZONED = [pa.timestamp(unit, zone) for unit in TICKS for zone in ("UTC", "Europe/Paris")]
TIMES = [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]
DURATIONS = [pa.duration(unit) for unit in TICKS]
GROUPS = [DATES + NAIVE, ZONED, TIMES, DURATIONS]


def _counts(type_: pa.DataType) -> st.SearchStrategy[int]:
    if types.is_time(type_):
        return st.integers(0, 86_399).map(lambda n: n * TICKS[type_.unit]) | st.integers(
            0, 86_400 * TICKS[type_.unit] - 1
        )
    if types.is_date64(type_):
        return st.integers(-(2**31) - 2, 2**31 + 1).map(lambda n: n * 86_400_000)
    bound = 2 ** (type_.bit_width - 1)
    unit = 1 if types.is_date(type_) else TICKS[type_.unit]
    days = st.integers(-(10**5), 10**5).map(lambda n: n * 86_400 * unit)
    whole = st.integers(-(10**9), 10**9).map(lambda n: n * unit)
    any_ = st.integers(-bound, bound - 1)
    return st.one_of(any_, *([] if types.is_date(type_) else [days, whole]))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[pa.DataType, pa.DataType, list[int | None]]:
    """Two types of one group, and counts of ticks of the first."""
    group = draw(st.sampled_from(GROUPS))
    found, wanted = draw(st.sampled_from(group)), draw(st.sampled_from(group))
    return found, wanted, draw(st.lists(st.none() | _counts(found), max_size=5))


def _raw(type_: pa.DataType) -> pa.DataType:
    return pa.int32() if type_.bit_width == 32 else pa.int64()


@given(pairs())
def test_each_point_in_time_stays_itself_or_is_refused(
    case: tuple[pa.DataType, pa.DataType, list[int | None]],
) -> None:
    """A change of unit gives what fractions say, and names each row of which it cannot."""
    found, wanted, counts = case
    array = pa.array(counts, _raw(found)).view(found)
    expected = [
        None if count is None else count if found == wanted else ticks(count, found, wanted)
        for count in counts
    ]
    stream = incoming(pa.table({"t": array}), pa.schema([pa.field("t", wanted)]), what="t", ids=())
    bad = [row for row, count in enumerate(expected) if count is REFUSED]
    if bad:
        with pytest.raises(DataProblems) as caught:
            stream.reader().read_all()
        assert [problem.row for problem in caught.value.problems] == bad
    else:
        column = stream.reader().read_all().column(0)
        assert column.type == wanted
        got = column.combine_chunks() if column.num_chunks else pa.array([], wanted)
        assert got.view(_raw(wanted)).to_pylist() == expected


def edges(type_: pa.DataType) -> list[int]:
    """Give counts of ticks at which units and widths end."""
    if types.is_time(type_):
        return [0, 1, 1000, 10**6, 86_399]
    units = (1, 10**3, 10**6, 10**9, 86_400, 86_400 * 10**3, 86_400 * 10**6, 86_400 * 10**9)
    bounds = [0, 1, *(2**p // unit + d for p in (31, 63) for unit in units for d in (-1, 0, 1))]
    bounds += [unit * day for unit in units for day in (1, 2**31 - 1, 2**31)]
    most = 2 ** (type_.bit_width - 1)
    counts = [s * bound for bound in bounds for s in (1, -1)] + [-most]
    if types.is_date64(type_):
        counts = [count // 86_400_000 * 86_400_000 for count in counts]
    return [count for count in dict.fromkeys(counts) if -most <= count < most]


PAIRS = [(found, wanted) for group in GROUPS for found in group for wanted in group]


@pytest.mark.parametrize(("found", "wanted"), PAIRS, ids=str)
def test_the_edges_of_each_unit_are_where_arithmetic_says(
    found: pa.DataType, wanted: pa.DataType
) -> None:
    """Beside counts that fit, exactly those that do not are named; the others stay themselves."""
    counts = edges(found)
    moved = [n if found == wanted else ticks(n, found, wanted) for n in counts]
    good = [n for n, to in zip(counts, moved, strict=True) if to is not REFUSED]
    bad = [n for n, to in zip(counts, moved, strict=True) if to is REFUSED]
    schema = pa.schema([pa.field("t", wanted)])

    def stream(values: list[int]) -> list[pa.RecordBatch]:
        table = pa.table({"t": pa.array(values, _raw(found)).view(found)})
        return list(incoming(table, schema, what="t", ids=()))

    (batch,) = stream(good)
    assert batch.column(0).view(_raw(wanted)).to_pylist() == [
        to for to in moved if to is not REFUSED
    ]
    for first in range(0, len(bad), 20):
        part = [*good, *bad[first : first + 20]]
        with pytest.raises(DataProblems) as caught:
            stream(part)
        assert [problem.row for problem in caught.value.problems] == [*range(len(good), len(part))]


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (pa.timestamp("us", "UTC"), pa.timestamp("us")),
        (pa.date32(), pa.timestamp("us", "UTC")),
        (pa.timestamp("us", "UTC"), pa.date32()),
        (pa.timestamp("us"), pa.time64("us")),
        (pa.time64("us"), pa.duration("us")),
        (pa.int64(), pa.timestamp("us")),
        (pa.duration("us"), pa.int64()),
        (pa.date32(), pa.int32()),
    ],
)
def test_what_is_not_the_same_kind_of_time_is_refused(
    found: pa.DataType, wanted: pa.DataType
) -> None:
    """Zoned and naive, points and spans, times and numbers are kept apart by their types."""
    empty: Any = pa.table({"t": pa.array([], found)})
    with pytest.raises(DataProblems, match="should be"):
        incoming(empty, pa.schema([pa.field("t", wanted)]), what="t", ids=())
