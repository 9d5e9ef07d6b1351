"""Values as text, truncated if they are long. No I/O.

Invariant: the cost of a value does not grow with its length, except for reading its bytes. A
truncated value states its full length. Null stays null.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Cell", "format_cells", "truncate"]

Cell = str | dict[str, str] | None
"""Text, or ``{"text": …, "whole": the full length}`` if it was truncated, or null."""

_CHARACTERS: Final = 300
_BYTES: Final = 32
_ITEMS: Final = 24
_TEXTS: Final = ("is_string", "is_large_string", "is_string_view")
_BINARIES: Final = ("is_binary", "is_large_binary", "is_fixed_size_binary", "is_binary_view")


def format_cells(values: Any) -> list[Cell]:
    """Return the values of an Arrow array as cells."""
    return [_cell(*each) for each in _texts(values, _ITEMS)]


def truncate(text: str | None, most: int = _CHARACTERS) -> Cell:
    """Return a text as a cell."""
    if text is None or len(text) <= most:
        return text
    return {"text": text[:most], "whole": f"{len(text):,} characters"}


_Text = tuple[str | None, str]
"""A value as text, with its full length if it was truncated, otherwise an empty string."""


def _cell(text: str | None, whole: str) -> Cell:
    if text is None or not whole:
        return truncate(text)
    return {"text": text[:_CHARACTERS], "whole": whole}


def _texts(values: Any, items: int) -> Sequence[_Text]:
    while isinstance(values.type, pa.BaseExtensionType):
        values = values.storage
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    type_ = values.type
    if _is_any(type_, *_TEXTS):
        return _strings(values.cast(pa.large_string()))
    if _is_any(type_, *_BINARIES):
        return [_bytes(each) for each in values]
    if pa.types.is_struct(type_):
        return _structs(values, items)
    if pa.types.is_nested(type_):
        return [_list(each, items) for each in values]
    return [(text, "") for text in _plain(values)]


def _is_any(type_: pa.DataType, *questions: str) -> bool:
    return any(getattr(pa.types, question)(type_) for question in questions)


def _strings(values: Any) -> list[_Text]:
    lengths = pc.utf8_length(values).to_pylist()
    starts = pc.utf8_slice_codeunits(values, 0, _CHARACTERS).to_pylist()
    return [
        (start, f"{length:,} characters" if length and length > _CHARACTERS else "")
        for start, length in zip(starts, lengths, strict=True)
    ]


def _bytes(value: Any) -> _Text:
    buffer = value.as_buffer() if value.is_valid else None
    if buffer is None:
        return None, ""
    whole = f"{buffer.size:,} bytes" if buffer.size > _BYTES else ""
    return "0x" + buffer.slice(0, min(_BYTES, buffer.size)).to_pybytes().hex(), whole


def _list(value: Any, items: int) -> _Text:
    """Return the first items of a list, a vector or a map."""
    found = value.values if value.is_valid else None
    if found is None:
        return None, ""
    first = _texts(found.slice(0, items), max(items // 3, 1))
    shown = ", ".join(_inner(text, whole, found.type) for text, whole in first)
    more = len(found) > len(first)
    return f"[{shown}{', …' if more else ''}]", f"{len(found):,} items" if more else ""


def _structs(values: Any, items: int) -> list[_Text]:
    fields = [values.type.field(index) for index in range(min(values.type.num_fields, items))]
    columns = [
        _texts(pc.struct_field(values, [index]), max(items // 3, 1)) for index in range(len(fields))
    ]
    texts: list[_Text] = []
    for row, is_valid in enumerate(values.is_valid().to_pylist()):
        parts = [
            f"{field.name}: {_inner(*column[row], field.type)}"
            for field, column in zip(fields, columns, strict=True)
        ]
        texts.append((f"{{{', '.join(parts)}}}" if is_valid else None, ""))
    return texts


def _inner(text: str | None, whole: str, type_: pa.DataType) -> str:
    """Return the text of a value inside another one."""
    if text is None:
        return "null"
    if _is_any(type_, *_TEXTS):
        text = json.dumps(text, ensure_ascii=False)
    return f"{text}… ({whole})" if whole else text


def _plain(values: Any) -> list[str | None]:
    """Return other values as text, as Arrow writes them, or otherwise as Python does."""
    try:
        texts: list[str | None] = values.cast(pa.string()).to_pylist()
    except pa.ArrowException:
        return [_by_python(each) for each in values]
    return texts


def _by_python(value: Any) -> str | None:
    if not value.is_valid:
        return None
    try:
        return str(value.as_py())
    except (ValueError, OverflowError, pa.ArrowException):  # years that Python does not support
        return str(value)
