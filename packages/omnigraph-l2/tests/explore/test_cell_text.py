"""Values become text, truncated if they are long.

The function is pure, and is given drawn values of every type.
"""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pyarrow as pa
import pytest

from omnigraph_l2._explore.cell_text import format_cells, truncate

LONG = "x" * 1000


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (pa.string(), "人 and 🐧", "人 and 🐧"),
        (pa.string(), "", ""),
        (pa.large_string(), "a", "a"),
        (pa.string_view(), "a", "a"),
        (pa.dictionary(pa.int8(), pa.string()), "a", "a"),
        (pa.int64(), 2**63 - 1, "9223372036854775807"),
        (pa.uint64(), 2**64 - 1, "18446744073709551615"),
        (pa.float32(), 0.5, "0.5"),
        (pa.float16(), 0.5, "0.5"),
        (pa.float64(), float("nan"), "nan"),
        (pa.float64(), float("-inf"), "-inf"),
        (pa.bool_(), True, "true"),
        (pa.decimal128(10, 2), decimal.Decimal("1.50"), "1.50"),
        (pa.date32(), dt.date(2020, 2, 29), "2020-02-29"),
        (pa.time64("us"), dt.time(1, 2, 3), "01:02:03.000000"),
        (pa.timestamp("us", "UTC"), dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc), None),
        (pa.timestamp("ns"), dt.datetime(2020, 1, 1), None),  # noqa: DTZ001 - as stored
        (pa.duration("s"), dt.timedelta(days=1), None),
        (pa.binary(), b"\x00\xff", "0x00ff"),
        (pa.binary(2), b"\x00\xff", "0x00ff"),
        (pa.list_(pa.int8()), [1, None], "[1, null]"),
        (pa.list_(pa.float32(), 2), [0.5, 1.5], "[0.5, 1.5]"),
        (pa.list_(pa.list_(pa.string())), [["a"], []], '[["a"], []]'),
        (pa.struct({"a": pa.int8(), "b": pa.string()}), {"a": 1}, "{a: 1, b: null}"),
        (pa.map_(pa.string(), pa.int8()), [("k", 1)], '[{key: "k", value: 1}]'),
    ],
)
def test_each_type_has_a_text(type_: pa.DataType, value: Any, text: str | None) -> None:
    """Values are text, and null is null, also in an array that begins elsewhere."""
    values = pa.array([None, value, None], type_).slice(1)
    first, second = format_cells(values)
    assert second is None
    assert isinstance(first, str)
    assert text is None or first == text


@pytest.mark.parametrize(
    ("type_", "value", "whole"),
    [
        (pa.string(), LONG, "1,000 characters"),
        (pa.binary(), LONG.encode(), "1,000 bytes"),
        (pa.list_(pa.int8()), [1] * 1000, "1,000 items"),
        (pa.list_(pa.float32(), 1000), [1.0] * 1000, "1,000 items"),
    ],
)
def test_long_values_are_truncated(type_: pa.DataType, value: Any, whole: str) -> None:
    """A cell has its first part, and how much there is."""
    (cell,) = format_cells(pa.array([value], type_))
    assert isinstance(cell, dict)
    assert cell["whole"] == whole
    assert len(cell["text"]) <= 300


def test_long_values_inside_of_others_are_cut() -> None:
    """A cell is short, however deep the long values are."""
    deep = pa.list_(pa.struct({"texts": pa.list_(pa.string())}))
    (cell,) = format_cells(pa.array([[{"texts": [LONG] * 100}] * 100], deep))
    assert isinstance(cell, dict)
    assert len(cell["text"]) <= 300


def test_no_rows_have_no_cells() -> None:
    """An empty column is an empty list."""
    for type_ in (pa.string(), pa.struct({"a": pa.int8()}), pa.list_(pa.int8()), pa.null()):
        assert format_cells(pa.array([], type_)) == []


def test_a_text_is_cut_by_characters() -> None:
    """Not in the middle of one."""
    assert truncate("人" * 10, 3) == {"text": "人人人", "whole": "10 characters"}
    assert truncate("人人人", 3) == "人人人"
    assert truncate(None) is None
