"""Arrow columns as JSON values; ``json_to_arrow`` is the inverse. No I/O.

Invariant: the conversion is lossless. Numbers keep all digits, times and decimals are text, bytes
are base64 text, maps are lists of pairs, and NaN and infinity are text.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["json_rows", "json_text", "json_values"]


def json_text(value: Any) -> str:
    """Serialize values that were read from JSON; decimals, NaN and infinity become text."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, default=str)


def json_rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Yield the rows of a batch."""
    columns = [json_values(column) for column in batch.columns]
    names = batch.schema.names
    for values in zip(*columns, strict=True) if columns else ():
        yield dict(zip(names, values, strict=True))


def json_values(array: pa.Array) -> list[Any]:  # noqa: PLR0911 - one return for each kind
    """Return the values of a column."""
    type_, types = array.type, pa.types
    if isinstance(type_, pa.BaseExtensionType):
        return json_values(array.storage)
    if types.is_floating(type_):
        return [_number(each) for each in array.to_pylist()]
    if types.is_duration(type_):
        return list(array.cast(pa.int64()).to_pylist())
    if types.is_temporal(type_) or types.is_decimal(type_):
        return list(_as_text(array).to_pylist())
    if _is_bytes(type_):
        return [
            None if each is None else base64.b64encode(each).decode() for each in array.to_pylist()
        ]
    if types.is_map(type_):
        return _lists(array, [list(pair) for pair in zip(
            json_values(array.keys), json_values(array.items), strict=True)])  # fmt: skip
    if types.is_fixed_size_list(type_):
        return _fixed_lists(array)
    if types.is_list(type_) or types.is_large_list(type_):
        return _lists(array, json_values(array.values))
    if types.is_struct(type_):
        return _structs(array)
    return list(array.to_pylist())


def _number(value: float | None) -> float | str | None:
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list):
        return [_finite(each) for each in value]
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    return value


def _is_bytes(type_: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_binary(type_) or types.is_large_binary(type_) or types.is_fixed_size_binary(type_)
    )


def _as_text(array: pa.Array) -> pa.Array:
    if pa.types.is_date64(array.type):
        array = array.cast(pa.date32())
    return pc.cast(array, pa.string())


def _lists(array: pa.Array, items: list[Any]) -> list[Any]:
    """Group the items into lists by the offsets of the array."""
    offsets = array.offsets.to_pylist()
    return [
        items[start:end] if valid else None
        for start, end, valid in zip(
            offsets[:-1], offsets[1:], array.is_valid().to_pylist(), strict=True
        )
    ]


def _fixed_lists(array: pa.Array) -> list[Any]:
    size, items = array.type.list_size, json_values(array.values)
    start = array.offset * size
    return [
        items[start + index * size : start + (index + 1) * size] if valid else None
        for index, valid in enumerate(array.is_valid().to_pylist())
    ]


def _structs(array: pa.Array) -> list[Any]:
    names = [array.type.field(index).name for index in range(array.type.num_fields)]
    columns = [json_values(array.field(index)) for index in range(array.type.num_fields)]
    valid = array.is_valid().to_pylist()
    return [
        {name: column[index] for name, column in zip(names, columns, strict=True)}
        if is_valid
        else None
        for index, is_valid in enumerate(valid)
    ]
