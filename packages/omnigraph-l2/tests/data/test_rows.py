# ruff: noqa: DTZ001 - points in time without a zone are what is tested
"""Rows that come as mappings: every value is kept as it is, or refused by name and row."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from collections import OrderedDict
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from row_input import DataProblems, incoming

UTC = dt.timezone.utc
EAST = dt.timezone(dt.timedelta(hours=2))
NODE = pa.schema([pa.field("id", pa.string(), nullable=False), ("a", pa.int8()), ("b", pa.int8())])


def column(values: list[Any], wanted: pa.DataType) -> list[Any]:
    """Take values in as a column, and give what it holds."""
    schema = pa.schema([pa.field("c", wanted)])
    rows = [{"c": value} for value in values]
    return list(incoming(rows, schema, what="t", ids=()).reader().read_all().column(0).to_pylist())


def refused(values: list[Any], wanted: pa.DataType) -> list[str]:
    """Give what is wrong with values for a column."""
    with pytest.raises(DataProblems) as caught:
        column(values, wanted)
    return [str(problem) for problem in caught.value.problems]


class Colour(str, enum.Enum):
    """A string with a name."""

    RED = "red"


@pytest.mark.parametrize(
    ("wanted", "given", "kept"),
    [
        (pa.float64(), [1, 2.5, None, np.float32(0.5)], [1.0, 2.5, None, 0.5]),
        (pa.int8(), [np.int64(3), 4, 5.0, Decimal("6.0")], [3, 4, 5, 6]),
        (pa.uint64(), [2**64 - 1, 0], [2**64 - 1, 0]),
        (pa.string(), ["a", np.str_("b"), Colour.RED], ["a", "b", "red"]),
        (pa.binary(), [b"a", bytearray(b"b"), memoryview(b"c")], [b"a", b"b", b"c"]),
        (pa.bool_(), [True, np.bool_(False)], [True, False]),
        (pa.decimal128(5, 2), [1, Decimal("1.5")], [Decimal("1.00"), Decimal("1.50")]),
        (
            pa.timestamp("us"),
            [dt.datetime(2020, 1, 2, 3), dt.date(2020, 1, 2), np.datetime64("2020-01-02", "s")],
            [dt.datetime(2020, 1, 2, 3), dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 2)],
        ),
        (
            pa.timestamp("us", "UTC"),
            [dt.datetime(2020, 1, 2, 3, tzinfo=EAST), dt.datetime(2020, 1, 2, 3, tzinfo=UTC)],
            [dt.datetime(2020, 1, 2, 1, tzinfo=UTC), dt.datetime(2020, 1, 2, 3, tzinfo=UTC)],
        ),
        (pa.date32(), [dt.date(2020, 1, 2)], [dt.date(2020, 1, 2)]),
        (pa.time64("us"), [dt.time(1, 2, 3, 4)], [dt.time(1, 2, 3, 4)]),
        (pa.duration("ms"), [dt.timedelta(days=1)], [dt.timedelta(days=1)]),
        (pa.list_(pa.float32()), [np.array([1, 2]), [1, 0.5], (3,)], [[1, 2], [1, 0.5], [3]]),
        (pa.list_(pa.float32(), 2), [np.array([1.0, 2.0], "f4"), None], [[1, 2], None]),
        (pa.list_(pa.list_(pa.int8())), [np.array([[1], [2]])], [[[1], [2]]]),
        (pa.map_(pa.string(), pa.int8()), [{"a": 1}, [("b", 2)], {}], [[("a", 1)], [("b", 2)], []]),
    ],
)
def test_values_are_kept(wanted: pa.DataType, given: list[Any], kept: list[Any]) -> None:
    """Values of different Python types that are the same kind of thing go into one column."""
    assert column(given, wanted) == kept


@pytest.mark.parametrize(
    ("wanted", "value", "problem"),
    [
        (pa.int8(), True, "should be int8, found bool True"),
        (pa.bool_(), 1, "should be bool, found int 1"),
        (pa.string(), 1, "should be string, found int 1"),
        (pa.string(), b"x", "should be string, found bytes b'x'"),
        (pa.binary(), "x", "should be binary, found str 'x'"),
        (pa.int64(), "1", "should be int64, found str '1'"),
        (pa.int64(), 2**64, "does not fit int64"),
        (pa.float64(), 2**53 + 1, "without being rounded"),
        (pa.float64(), 2**2000, "without being rounded"),
        (pa.float64(), 2**64 + 1, "without being rounded"),
        (pa.float64(), Decimal("0.5"), "should be double, found Decimal"),
        (pa.string(), 2**64, "should be string, found int"),
        (pa.decimal128(5, 2), 0.5, "found float 0.5"),
        (pa.decimal128(5, 2), Decimal("NaN"), "does not fit"),
        (pa.decimal128(5, 2), Decimal("1e999999"), "does not fit"),
        (pa.decimal128(5, 2), Decimal("1e-999999"), "does not fit"),
        (pa.date32(), dt.datetime(2020, 1, 1, 3), "without being rounded"),
        (pa.timestamp("us"), dt.datetime(2020, 1, 1, tzinfo=UTC), "found datetime"),
        (pa.timestamp("us", "UTC"), dt.datetime(2020, 1, 1), "found datetime"),
        (pa.time64("us"), dt.time(1, tzinfo=UTC), "found time"),
        (pa.timestamp("us"), np.datetime64("NaT"), "found datetime64"),
        (pa.timestamp("us"), np.datetime64("2020-01-01T00:00:00.000000001"), "rounded"),
        (pa.duration("us"), dt.timedelta.max, "found timedelta"),
        (pa.string(), uuid.UUID(int=1), "found UUID"),
        (pa.list_(pa.int8()), {1, 2}, "found set {1, 2}"),
        (pa.list_(pa.int8()), "ab", "found str 'ab'"),
        (pa.list_(pa.string()), {"a": 1}, "found dict"),
        (pa.struct([("x", pa.int8())]), [("x", 1)], "found list"),
        (pa.struct([("x", pa.int8())]), {"y": 1}, "has 'y', which is no field of c"),
        (pa.map_(pa.string(), pa.int8()), [("a",)], "found list"),
        (pa.map_(pa.string(), pa.int8()), [(None, 1)], "is null, but may not be"),
        (pa.int8(), float("nan"), "nan does not fit int8"),
        (pa.string(), object, "found type"),
    ],
)
def test_values_that_are_something_else_are_refused(
    wanted: pa.DataType, value: Any, problem: str
) -> None:
    """Nothing is coerced: the message has the row, the value and what it should be."""
    (found,) = refused([None, value, None], wanted)
    assert found.endswith(" (row 1)")
    assert problem in found


def test_unknown_fields_are_told_in_order() -> None:
    """It is the same in each process."""
    names = [*"hgfedcba"]
    found = refused([dict.fromkeys(names, 1)], pa.struct([("x", pa.int8())]))
    assert [name for each in found for name in names if f"has {name!r}" in each] == sorted(names)


def test_only_the_bad_rows_of_a_mixed_column_are_named() -> None:
    """Values of each type are judged by themselves."""
    assert refused([1, "x", 2, 2.5, None, 300, True], pa.int8()) == [
        "c: should be int8, found str 'x' (row 1)",
        "c: 2.5 does not fit int8 (row 3)",
        "c: 300 does not fit int8 (row 5)",
        "c: should be int8, found bool True (row 6)",
    ]


def test_any_mapping_is_a_row() -> None:
    """Rows need not be dicts, nor alike."""
    rows = [OrderedDict(id="a", a=1), MappingProxyType({"b": 2, "id": "b"})]
    result = incoming(rows, NODE, what="node:P").reader().read_all()
    assert result.to_pylist() == [{"id": "a", "a": 1, "b": None}, {"id": "b", "a": None, "b": 2}]


def test_rows_that_are_no_mappings_and_unknown_columns_are_named() -> None:
    """What is not a row is told by row, a column that the table lacks once."""
    with pytest.raises(DataProblems) as caught:
        list(incoming([{"id": "a"}, ["b"], 3], NODE, what="node:P"))
    assert [str(problem) for problem in caught.value.problems] == [
        "*: should be a mapping of column names, found list ['b'] (row 1)",
        "*: should be a mapping of column names, found int 3 (row 2)",
    ]
    rows = [{"id": "a"}, {"id": "b", "z": 1, 5: 1}, {"id": "c", "z": 1}, {"a": 1}]
    with pytest.raises(DataProblems) as caught:
        list(incoming(rows, NODE, what="node:P"))
    assert [str(problem) for problem in caught.value.problems] == [
        "5: is no column of node:P, which has 'id', 'a', 'b' (row 1)",
        "z: is no column of node:P, which has 'id', 'a', 'b' (row 1)",
        "id: is null, but may not be (row 3)",
    ]


def test_where_columns_may_be_missing_all_rows_agree() -> None:
    """A column that only some rows have would be set to null where it was not meant."""
    rows = [{"id": "a", "a": 1}, {"id": "b", "a": None}]
    stream = incoming(rows, NODE, what="node:P", may_lack_nullable=True)
    assert stream.schema.names == ["id", "a"]
    assert pa.Table.from_batches(list(stream)).to_pylist() == rows
    uneven = [{"id": "a", "a": 1}, {"id": "b", "b": 2}]
    with pytest.raises(DataProblems) as caught:
        list(incoming(uneven, NODE, what="node:P", may_lack_nullable=True))
    assert [str(problem) for problem in caught.value.problems] == [
        "a: is missing, and is in the first row: give None for null (row 1)",
        "b: is not in the first row: give it in each row, None for null, or in none (row 1)",
    ]
    assert list(incoming([], NODE, what="node:P", may_lack_nullable=True)) == []


def test_rows_are_counted_over_all_that_are_taken_at_a_time() -> None:
    """Row numbers are those of the data, and all problems of a list come at once."""
    rows = [{"id": f"n{n}", "a": 300 if n in {5, 3000, 9999} else 1} for n in range(10_000)]
    with pytest.raises(DataProblems) as caught:
        list(incoming(rows, NODE, what="node:P"))
    assert [problem.row for problem in caught.value.problems] == [5, 3000, 9999]
    with pytest.raises(DataProblems) as caught:
        list(incoming(iter(rows), NODE, what="node:P"))
    assert [problem.row for problem in caught.value.problems] == [5]


def test_an_unknown_column_far_down_is_named_with_its_row() -> None:
    """The first row that has it is told, counted over all rows."""
    rows: list[dict[str, Any]] = [{"id": f"n{n}"} for n in range(5000)]
    rows[4321]["z"] = 1
    with pytest.raises(DataProblems) as caught:
        list(incoming(rows, NODE, what="node:P"))
    assert [(problem.column, problem.row) for problem in caught.value.problems] == [("z", 4321)]


def test_times_with_and_without_a_zone_are_told_apart_in_one_column() -> None:
    """The one that fits is not named."""
    naive, aware = dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=UTC)
    assert [p[p.rindex(" (") :] for p in refused([naive, aware], pa.timestamp("us"))] == [
        " (row 1)"
    ]
    zoned = pa.timestamp("us", "UTC")
    assert [p[p.rindex(" (") :] for p in refused([naive, aware], zoned)] == [" (row 0)"]


def test_values_that_fit_are_not_named_beside_those_of_their_type_that_do_not() -> None:
    """Huge integers, decimals and halves of characters stand among good ones."""
    for values, wanted in (
        ([1, 2**64], pa.int64()),
        ([1, 2**64 + 1], pa.float64()),
        ([Decimal(1), Decimal("NaN")], pa.decimal128(5, 2)),
        ([Decimal(999), Decimal(1000)], pa.decimal128(5, 2)),
        (["a", "\ud800"], pa.string()),
        ([dt.time(1), dt.time(1, tzinfo=UTC)], pa.time64("us")),
        ([dt.timedelta(1), dt.timedelta.max], pa.duration("us")),
    ):
        assert [problem[problem.rindex(" (") :] for problem in refused(values, wanted)] == [
            " (row 1)"
        ]


def test_floats_of_python_are_rounded_to_narrow_columns() -> None:
    """Python has no narrow floats: the nearest is meant, as in vectors; infinity never is."""
    vector = pa.field("v", pa.list_(pa.float32(), 2))
    schema = pa.schema([pa.field("id", pa.string(), nullable=False), vector])
    rows = incoming([{"id": "a", "v": [0.1, 2.5]}], schema, what="x").reader().read_all()
    assert rows.column("v").to_pylist() == [[pytest.approx(0.1, rel=1e-6), 2.5]]
    with pytest.raises(DataProblems, match="float"):
        incoming([{"id": "a", "v": [1e300, 0.0]}], schema, what="x").reader().read_all()
