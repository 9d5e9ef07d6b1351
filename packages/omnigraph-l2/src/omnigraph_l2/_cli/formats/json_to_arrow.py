"""Text and JSON values as Arrow columns; the inverse of ``arrow_to_json``. No I/O.

Invariant: a value is converted exactly or raises ``Unfit``. Only a decimal fraction is rounded, to
the nearest float. Text in JSON is not converted to a number, and no number is truncated.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Unfit", "convert_json", "convert_text", "holds_decimals"]

_NOT_NUMBERS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_LONGEST_SHOWN: Final = 60
_SOME_DAY: Final = "1970-01-01T"


class Unfit(ValueError):
    """A value cannot be converted to the type of the column."""


def convert_text(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Convert a column of CSV."""
    types = pa.types
    if types.is_nested(type_):
        return convert_json([_json(each) for each in values.to_pylist()], type_)
    if types.is_duration(type_):
        return _cast(_cast(values, pa.int64()), type_)
    return _of_text(values, type_)


def convert_json(  # noqa: C901, PLR0911 - one return for each kind
    values: Sequence[Any], type_: pa.DataType
) -> pa.Array:
    """Convert a column of JSON values."""
    types = pa.types
    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, convert_json(values, type_.storage_type))
    if types.is_struct(type_):
        return _structs(values, type_)
    if types.is_map(type_):
        return _maps(values, type_)
    if types.is_fixed_size_list(type_):
        return _fixed_lists(values, type_)
    if types.is_list(type_) or types.is_large_list(type_):
        return _lists(values, type_)
    if types.is_boolean(type_):
        return pa.array(_each(values, type_, lambda each: isinstance(each, bool)), type_)
    if types.is_integer(type_):
        return _array(_each(values, type_, _is_whole), type_)
    if types.is_duration(type_):
        return _array(_each(values, type_, _is_whole), pa.int64()).cast(type_)
    if types.is_floating(type_):
        return _floats(values, type_)
    if types.is_decimal(type_):
        texts = [each if each is None else str(each) for each in _each(values, type_, _is_decimal)]
        return _of_text(pa.array(texts, pa.string()), type_)
    strings = _each(values, type_, lambda each: isinstance(each, str))
    return _of_text(_array(strings, pa.string()), type_)


def holds_decimals(type_: pa.DataType) -> bool:
    """Return whether numbers must keep all digits until they are converted to the type."""
    inside = (type_.field(index).type for index in range(type_.num_fields))
    return bool(pa.types.is_decimal(type_)) or any(map(holds_decimals, inside))


def _of_text(values: pa.Array, type_: pa.DataType) -> pa.Array:
    types = pa.types
    if types.is_string(type_):
        return values
    if types.is_binary(type_) or types.is_large_binary(type_) or types.is_fixed_size_binary(type_):
        return _array([_bytes(each) for each in values.to_pylist()], type_)
    if types.is_date64(type_):
        return _cast(_cast(values, pa.date32()), type_)
    if types.is_time(type_):
        moments = pc.binary_join_element_wise(_SOME_DAY, values, "")
        return _cast(_cast(moments, pa.timestamp(type_.unit), values), type_)
    if types.is_float16(type_):
        return _floats(_cast(values, pa.float64()).to_pylist(), type_)
    found = _cast(values, type_)
    if types.is_floating(type_):
        _check_finite(found, values.to_pylist(), type_)
    return found


def _each(values: Sequence[Any], type_: pa.DataType, fits: Callable[[Any], bool]) -> Sequence[Any]:
    for each in values:
        if each is not None and not fits(each):
            raise _unfit(each, type_)
    return values


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_decimal(value: Any) -> bool:
    return _is_whole(value) or isinstance(value, Decimal | str)


def _floats(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    numbers = []
    for each in values:
        number = _NOT_NUMBERS.get(each, each) if isinstance(each, str) else each
        if number is not None and not (_is_whole(number) or isinstance(number, float | Decimal)):
            raise _unfit(each, type_)
        try:
            numbers.append(None if number is None else float(number))
        except OverflowError as error:
            raise _unfit(each, type_) from error
    found = pa.array(numbers, pa.float64()).cast(type_, safe=False)
    _check_finite(found, values, type_)
    return found


def _check_finite(found: pa.Array, values: Sequence[Any], type_: pa.DataType) -> None:
    """Raise ``Unfit`` if a finite number became infinite."""
    for index, number in enumerate(found.to_pylist()):
        if number is not None and math.isinf(number):
            value = values[index]
            text = value if isinstance(value, str) else ""
            if "inf" not in text.lower() and not (isinstance(value, float) and math.isinf(value)):
                raise _unfit(value, type_)


def _lists(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    items, offsets = _flat(values, type_)
    kind = pa.LargeListArray if pa.types.is_large_list(type_) else pa.ListArray
    width = pa.int64() if pa.types.is_large_list(type_) else pa.int32()
    return kind.from_arrays(
        pa.array(offsets, width), convert_json(items, type_.value_type), type=type_
    )


def _maps(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    pairs, offsets = _flat(values, type_)
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:  # noqa: PLR2004 - a key and its value
            raise _unfit(pair, type_)
    return pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32()),
        convert_json([key for key, _ in pairs], type_.key_type),
        convert_json([item for _, item in pairs], type_.item_type),
    ).cast(type_)


def _fixed_lists(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    items: list[Any] = []
    for each in _each(values, type_, lambda one: isinstance(one, list)):
        if each is not None and len(each) != type_.list_size:
            raise _unfit(each, type_)
        items += [None] * type_.list_size if each is None else each
    return pa.FixedSizeListArray.from_arrays(
        convert_json(items, type_.value_type), type=type_, mask=_nulls(values)
    )


def _structs(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    fields = [type_.field(index) for index in range(type_.num_fields)]
    known = {field.name for field in fields}
    for each in _each(values, type_, lambda one: isinstance(one, dict)):
        if each is not None and each.keys() - known:
            raise _unfit(each, type_)
    columns = [
        convert_json([None if one is None else one.get(field.name) for one in values], field.type)
        for field in fields
    ]
    if not fields:
        return pa.array(values, type_)
    return pa.StructArray.from_arrays(columns, fields=fields, mask=_nulls(values))


def _flat(values: Sequence[Any], type_: pa.DataType) -> tuple[list[Any], list[int | None]]:
    """Concatenate the items of lists; return them with the offsets, null for a null list."""
    items: list[Any] = []
    offsets: list[int | None] = []
    for each in _each(values, type_, lambda one: isinstance(one, list)):
        offsets.append(None if each is None else len(items))
        items += each or ()
    return items, [*offsets, len(items)]


def _nulls(values: Sequence[Any]) -> pa.Array:
    return pa.array([each is None for each in values], pa.bool_())


def _json(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return json.loads(text, parse_float=Decimal)
    except ValueError as error:
        message = f"should be JSON, found {_short(text)}"
        raise Unfit(message) from error


def _bytes(text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        message = f"should be bytes in base64, found {_short(text)}"
        raise Unfit(message) from error


def _array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, type_)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
        raise _unfit(values[0] if len(values) == 1 else "a value", type_) from error


def _cast(values: pa.Array, type_: pa.DataType, original: pa.Array | None = None) -> pa.Array:
    try:
        return pc.cast(values, type_)
    except pa.ArrowException as error:
        shown = values if original is None else original
        raise _unfit(shown[0].as_py() if len(shown) == 1 else "a value", type_) from error


def _unfit(value: Any, type_: pa.DataType) -> Unfit:
    return Unfit(f"should be {type_}, found {_short(value)}")


def _short(value: Any) -> str:
    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
