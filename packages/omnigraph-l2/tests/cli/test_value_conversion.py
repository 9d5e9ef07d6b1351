"""Values as JSON and as text, and back, without loss.

The conversions are pure; a load and a ``cat`` for each drawn value would take minutes.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph_l2._cli.formats.arrow_to_json import json_values
from omnigraph_l2._cli.formats.json_to_arrow import Unfit, convert_json, convert_text

COLUMNS = [
    pa.array([1, None, -(2**63), 2**63 - 1], pa.int64()),
    pa.array([0, 2**64 - 1], pa.uint64()),
    pa.array([0.1, None, float("inf"), -0.0, 5e-324, 1e308], pa.float64()),
    pa.array([0.1, None, float("-inf")], pa.float32()),
    pa.array([1.5, None], pa.float64()).cast(pa.float16()),
    pa.array([True, None, False]),
    pa.array(["", "ä\x1b", None, "\U0001f600"]),
    pa.array([b"", b"\xff\x00", None], pa.binary()),
    pa.array([b"ab", None], pa.binary(2)),
    pa.array([0, -1, None, 2_932_896], pa.date32()),
    pa.array([0, 86_400_000, None], pa.int64()).cast(pa.date64()),
    pa.array([0, -1, 1_600_000_000_123_456, None], pa.timestamp("us")),
    pa.array([0, -1, 1_600_000_000_123_456_789, None], pa.timestamp("ns", "UTC")),
    pa.array([0, 1_600_000_000, None], pa.timestamp("s", "Europe/Berlin")),
    pa.array([0, 86_399, None], pa.time32("s")),
    pa.array([0, 86_399_999_999_999, None], pa.time64("ns")),
    pa.array([0, -(2**62), None], pa.duration("ns")),
    pa.array([Decimal("1.20"), None, Decimal("-99999999.99")], pa.decimal128(10, 2)),
    pa.array([[1, None], [], None], pa.list_(pa.int8())),
    pa.array([[1.5, 2.5], None], pa.list_(pa.float32(), 2)),
    pa.array([["a"], None, []], pa.large_list(pa.string())),
    pa.array([{"a": 1, "b": [{"c": b"x"}]}, None, {"a": None, "b": None}],
             pa.struct([("a", pa.int32()), ("b", pa.list_(pa.struct([("c", pa.binary())])))])),
    pa.array([[("k", 1), ("l", None)], None, []], pa.map_(pa.string(), pa.int64())),
]  # fmt: skip


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.type))
@pytest.mark.parametrize("start", [0, 1])
def test_json_is_read_back(column: pa.Array, start: int) -> None:
    """Each type, also where a column begins in the middle of its memory."""
    part = column.slice(start)
    lines = [json.dumps(each) for each in json_values(part)]
    values = [json.loads(line, parse_float=_exact(column)) for line in lines]
    assert convert_json(values, column.type).equals(part)


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.type))
def test_text_is_read_back(column: pa.Array) -> None:
    """The same in CSV, where everything is text and nested values are JSON."""
    texts = [_text(each) for each in json_values(column)]
    assert convert_text(pa.array(texts, pa.string()), column.type).equals(column)


@given(st.lists(st.none() | st.floats(allow_nan=False)))
@settings(deadline=None)
def test_floats_keep_every_bit(numbers: list[float | None]) -> None:
    """Through JSON and through text."""
    column = pa.array(numbers, pa.float64())
    assert convert_json(json.loads(json.dumps(json_values(column))), column.type).equals(column)
    texts = pa.array([None if each is None else repr(each) for each in numbers], pa.string())
    assert convert_text(texts, column.type).equals(column)


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (1.0, pa.int64()), ("1", pa.int64()), (True, pa.int64()), (2**63, pa.int64()),
        (1, pa.bool_()), (1, pa.string()), ("x", pa.float64()), (10**400, pa.float64()),
        (1e300, pa.float32()), (20200101, pa.date32()), ("2020-1-1", pa.date32()),
        ("2020", pa.date32()), ("2020-01-01T00:00:00Z", pa.timestamp("us")),
        ("2020-01-01T00:00:00", pa.timestamp("us", "UTC")), ("12:30", pa.timestamp("us")),
        ("x", pa.binary()), ("YWI=", pa.binary(3)), (0.5, pa.decimal128(4, 2)),
        ("1.234", pa.decimal128(4, 2)), ([1], pa.list_(pa.int8(), 2)),
        ({"b": 1}, pa.struct([("a", pa.int8())])), ("25:00:00", pa.time32("s")),
        ([["k"]], pa.map_(pa.string(), pa.int8())), ("\ud800", pa.string()), ([], pa.int8()),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_rejected(value: Any, type_: pa.DataType) -> None:
    """Text is not read as a number, and no fraction is cut off; the value is named."""
    with pytest.raises(Unfit, match="should be"):
        convert_json([value], type_)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("1e3", pa.int32()), ("1.0", pa.int32()), ("300", pa.int8()), ("yes", pa.bool_()),
        ("2020", pa.date32()), ("1.234", pa.decimal128(4, 2)), ("1e999", pa.float64()),
        ("1e300", pa.float32()), ("[1", pa.list_(pa.int8())), ("12:30", pa.timestamp("us")),
    ],
)  # fmt: skip
def test_text_that_does_not_fit_is_rejected(text: str, type_: pa.DataType) -> None:
    """A value that would have to be interpreted, truncated or rounded is rejected."""
    with pytest.raises(Unfit, match="should be"):
        convert_text(pa.array([text]), type_)


def _exact(column: pa.Array) -> Any:
    return Decimal if pa.types.is_decimal(column.type) else None


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value)
