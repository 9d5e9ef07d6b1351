"""Equality of values of every type that a property can have.

It is a pure function; a diff for each of the drawn values would take minutes.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph_l2._rows.value_equality import same_rows, same_values
from omnigraph_testing.strategies import property_types

NAN = float("nan")

CASES: dict[str, tuple[pa.DataType, list[tuple[Any, Any, bool]]]] = {
    "text": (
        pa.string(),
        [("a", "a", True), (None, None, True), ("a", None, False), ("", None, False)],
    ),
    "double": (
        pa.float64(),
        [
            (1.0, 1.0, True),
            (NAN, NAN, True),
            (0.0, -0.0, False),
            (NAN, 1.0, False),
            (NAN, None, False),
        ],
    ),
    "half": (
        pa.float16(),
        [(np.float16(1), np.float16(1), True), (np.float16(NAN), np.float16(NAN), True)],
    ),
    "bool": (pa.bool_(), [(True, True, True), (True, False, False), (None, False, False)]),
    "decimal": (
        pa.decimal128(10, 2),
        [(Decimal("1.10"), Decimal("1.10"), True), (Decimal(1), None, False)],
    ),
    "long decimal": (pa.decimal256(60, 2), [(Decimal("1.10"), Decimal("1.20"), False)]),
    "binary": (pa.binary(), [(b"a", b"a", True), (b"", None, False)]),
    "fixed binary": (
        pa.binary(2),
        [(b"ab", b"ab", True), (b"ab", b"ac", False), (None, None, True)],
    ),
    "date": (pa.date32(), [(1, 1, True), (1, 2, False)]),
    "time": (pa.time64("ns"), [(1, 1, True), (1, 2, False)]),
    "duration": (pa.duration("us"), [(1, 1, True), (None, None, True), (1, 2, False)]),
    "moment": (pa.timestamp("ns", "UTC"), [(1, 1, True), (1, 2, False), (None, 1, False)]),
    "list": (
        pa.list_(pa.float32()),
        [
            ([1], [1], True),
            ([], [], True),
            ([], None, False),
            ([NAN, None], [NAN, None], True),
            ([1, 2], [1], False),
            ([1, 2], [2, 1], False),
            ([None], [], False),
        ],
    ),
    "list of lists": (
        pa.large_list(pa.list_(pa.string())),
        [
            ([["a"], []], [["a"], []], True),
            ([[], ["a"]], [["a"], []], False),
            ([None], [[]], False),
        ],
    ),
    "vector": (
        pa.list_(pa.float32(), 2),
        [
            ([1, 2], [1, 2], True),
            ([1, 2], [2, 1], False),
            (None, None, True),
            ([1, None], None, False),
        ],
    ),
    "struct": (
        pa.struct({"a": pa.int32(), "b": pa.list_(pa.int8())}),
        [
            ({"a": 1, "b": [1]}, {"a": 1, "b": [1]}, True),
            (None, {"a": None, "b": None}, False),
            ({"a": 1, "b": [1]}, {"a": 1, "b": [2]}, False),
            (None, None, True),
        ],
    ),
    "map": (
        pa.map_(pa.string(), pa.int32()),
        [([("a", 1)], [("a", 1)], True), ([("a", 1)], [("a", 2)], False), ([], None, False)],
    ),
}


@pytest.mark.parametrize(("type_", "pairs"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("start", [0, 1])
def test_values(type_: pa.DataType, pairs: list[tuple[Any, Any, bool]], start: int) -> None:
    """Pairs of values, also in arrays that begin within their buffers."""
    ones, others, expected = (list(each) for each in zip(*pairs, strict=True))
    one, other = (pa.array(each, type_).slice(start) for each in (ones, others))
    assert same_values(one, other).tolist() == expected[start:]
    assert same_values(other, one).tolist() == expected[start:]


@settings(deadline=None)
@given(type_=property_types(), length=st.integers(0, 3))
def test_any_type(type_: pa.DataType, length: int) -> None:
    """Whatever can be declared can be compared."""
    nothing = pa.nulls(length, type_)
    assert same_values(nothing, nothing).all()


def test_columns_that_one_side_lacks() -> None:
    """They count as null there; a column of another type is equal only where both are null."""
    before = pa.table({"id": ["a", "b", "c"], "x": [1, None, None], "y": [1, None, None]})
    after = pa.table({"id": ["a", "b", "c"], "y": ["1", None, "1"], "z": [None, None, 1]})
    assert same_rows(before, after).tolist() == [False, True, False]
    assert same_rows(before.select(["id", "y"]), before.select(["id"])).tolist() == [
        False,
        True,
        True,
    ]
