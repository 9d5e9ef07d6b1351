"""Check the names and properties of a schema. Pure; each function returns all problems as text."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa

__all__ = ["name_problems", "property_problems", "type_name_problems", "unique_problems"]

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_LONGEST_NAME = 200


def type_name_problems(name: object) -> Iterator[str]:
    """Check the name of a type. ``$`` separates the parts of catalog keys, so it is not free."""
    if not isinstance(name, str) or not name.strip():
        yield f"a type needs a name, found {name!r}"
    elif len(name) > _LONGEST_NAME or _CONTROL.search(name) or "$" in name or not _encodes(name):
        yield (
            f"{name!r} cannot name a type: at most {_LONGEST_NAME} characters, no control "
            "characters, no '$'"
        )


def name_problems(type_name: str, name: object, reserved: tuple[str, ...]) -> Iterator[str]:
    """Check the name of a property."""
    if not isinstance(name, str) or not name.strip() or _CONTROL.search(name):
        yield f"a property of {type_name!r} needs a name, found {name!r}"
    elif name in reserved:
        yield f"property {name!r} of {type_name!r} has a name that every such table has already"
    elif name.startswith("_row") or "." in name or "`" in name or not _encodes(name):
        yield (
            f"property {name!r} of {type_name!r} cannot be named so: Lance keeps '_row…' for "
            "itself, and reads '.' and '`' as part of a path"
        )


def property_problems(type_name: str, name: object, type_: object) -> Iterator[str]:
    """Check the type of a property."""
    if not isinstance(type_, pa.DataType):
        yield f"property {name!r} of {type_name!r} needs a pyarrow type, found {type_!r}"
        return
    for inner in _all_types(type_):
        plain = _plain(inner)
        if plain is not None:
            yield f"property {name!r} of {type_name!r} has the type {inner}; declare it as {plain}"


def unique_problems(type_name: str, name: object, type_: object) -> Iterator[str]:
    """Check the type of a property that is unique: its values must be equal or not, exactly."""
    types = pa.types
    kinds = (
        types.is_string,
        types.is_integer,
        types.is_date,
        types.is_timestamp,
        types.is_decimal,
    )
    if isinstance(type_, pa.DataType) and not any(kind(type_) for kind in kinds):
        yield (
            f"property {name!r} of {type_name!r} cannot be unique, because it is {type_}; text, "
            "whole numbers, decimals, dates and timestamps can"
        )


def _plain(type_: pa.DataType) -> str | None:  # noqa: C901, PLR0911 - one answer for each kind
    """Return the type to declare instead of one that Lance cannot store or reads as another."""
    types = pa.types
    if types.is_large_string(type_) or types.is_string_view(type_):
        return "string"
    if types.is_binary_view(type_):
        return "binary"
    if types.is_dictionary(type_) or types.is_run_end_encoded(type_):
        return str(type_.value_type)
    if types.is_decimal32(type_) or types.is_decimal64(type_):
        return f"decimal128({type_.precision}, {type_.scale})"
    if types.is_list_view(type_) or types.is_large_list_view(type_):
        return f"list<{type_.value_type}>"
    if types.is_fixed_size_list(type_) and (
        not type_.list_size or types.is_nested(type_.value_type)
    ):
        return f"list<{type_.value_type}>"
    if types.is_struct(type_) and len({field.name for field in type_}) < type_.num_fields:
        return "a struct whose fields have names of their own"
    if types.is_interval(type_):
        return "a duration"
    if types.is_union(type_):
        return "a struct with a field for each kind"
    if types.is_null(type_):
        return "the type of its values"
    return None


def _all_types(type_: pa.DataType) -> Iterator[pa.DataType]:
    yield type_
    if isinstance(type_, pa.DictionaryType | pa.RunEndEncodedType):
        return
    for index in range(type_.num_fields):
        yield from _all_types(type_.field(index).type)


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
