"""Which Arrow types can be cast to which, decided by the types alone.

Invariant: a pair of types that is refused here is refused for all values. Values of an accepted
pair may still not fit; ``lossless_casts`` refuses them row by row. No cast goes from one family
(text, bytes, booleans, numbers, points in time, …) to another, between a float and a decimal, or
between times with and without a time zone.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyarrow import types

__all__ = [
    "entries_type",
    "family",
    "field_names",
    "is_list",
    "is_text",
    "is_variable_bytes",
    "type_obstacles",
]

_FAMILIES = (
    (types.is_boolean, "truth value"),
    (types.is_integer, "integer"),
    (types.is_floating, "float"),
    (types.is_decimal, "decimal"),
    (types.is_date, "date"),
    (types.is_timestamp, "timestamp"),
    (types.is_time, "time"),
    (types.is_duration, "duration"),
    (types.is_struct, "struct"),
    (types.is_map, "map"),
)
_BETWEEN_FAMILIES = {
    ("integer", "float"),
    ("float", "integer"),
    ("integer", "decimal"),
    ("decimal", "integer"),
    ("date", "timestamp"),
    ("timestamp", "date"),
}


def is_text(type_: pa.DataType) -> bool:
    """Return whether values are strings."""
    return bool(
        types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_)
    )


def is_variable_bytes(type_: pa.DataType) -> bool:
    """Return whether values are bytes of any number."""
    return bool(
        types.is_binary(type_) or types.is_large_binary(type_) or types.is_binary_view(type_)
    )


def is_list(type_: pa.DataType) -> bool:
    """Return whether values are lists. Maps are not."""
    return bool(
        types.is_list(type_)
        or types.is_large_list(type_)
        or types.is_fixed_size_list(type_)
        or types.is_list_view(type_)
        or types.is_large_list_view(type_)
    )


def family(type_: pa.DataType) -> str | None:
    """Return the family of a type, whatever its width; None for types that are not cast."""
    if isinstance(type_, pa.BaseExtensionType):
        return None
    if is_text(type_):
        return "text"
    if is_variable_bytes(type_) or types.is_fixed_size_binary(type_):
        return "bytes"
    if is_list(type_):
        return "list"
    return next((name for belongs, name in _FAMILIES if belongs(type_)), None)


def field_names(type_: pa.StructType) -> list[str]:
    """Return the names of a struct's fields."""
    return [type_.field(index).name for index in range(type_.num_fields)]


def entries_type(type_: pa.MapType) -> pa.ListType:
    """Return a map's type as the list of structs that it is."""
    key = pa.field("key", type_.key_type, nullable=False)
    value = pa.field("value", type_.item_type, nullable=type_.item_field.nullable)
    return pa.list_(pa.field("entries", pa.struct([key, value]), nullable=False))


def type_obstacles(path: str, found: pa.DataType, wanted: pa.DataType) -> Iterator[tuple[str, str]]:
    """Return each reason why no value of a type fits another, with its path in the type."""
    if found == wanted or types.is_null(found):
        return
    if types.is_dictionary(found):
        yield from type_obstacles(path, found.value_type, wanted)
        return
    given, needed = family(found), family(wanted)
    known = given is not None and needed is not None
    if not known or (given != needed and (given, needed) not in _BETWEEN_FAMILIES):
        yield path, f"should be {wanted}, found {found}"
    elif (reason := _detail(found, wanted)) is not None:
        yield path, f"should be {wanted}, found {found}: {reason}"
    elif needed == "list":
        yield from type_obstacles(f"{path}[]", found.value_type, wanted.value_type)
    elif needed == "map":
        yield from _struct_obstacles(
            path, entries_type(found).value_type, entries_type(wanted).value_type
        )
    elif needed == "struct":
        yield from _struct_obstacles(path, found, wanted)


def _detail(found: pa.DataType, wanted: pa.DataType) -> str | None:
    if types.is_timestamp(found) or types.is_timestamp(wanted):
        zoned = [bool(types.is_timestamp(type_) and type_.tz) for type_ in (found, wanted)]
        if zoned[0] != zoned[1]:
            return "one has a time zone, the other has none, and which instant is meant is unknown"
    if types.is_fixed_size_binary(found) and types.is_fixed_size_binary(wanted):
        return "the number of bytes differs"
    if types.is_fixed_size_list(found) and types.is_fixed_size_list(wanted):
        return None if found.list_size == wanted.list_size else "the number of items differs"
    if types.is_list_view(wanted) or types.is_large_list_view(wanted):
        return "give the very type"
    if types.is_map(wanted) and wanted.keys_sorted and not found.keys_sorted:
        return "its keys are not known to be sorted"
    return None


def _struct_obstacles(
    path: str, found: pa.StructType, wanted: pa.StructType
) -> Iterator[tuple[str, str]]:
    names, known = field_names(found), field_names(wanted)
    for name in dict.fromkeys(names):
        inner = f"{path}.{name}"
        if names.count(name) > 1:
            yield inner, "stands more than once in the data"
        elif name not in known:
            yield inner, f"is no field of {path}, which has {', '.join(map(repr, known))}"
        else:
            yield from type_obstacles(
                inner, found.field(names.index(name)).type, wanted.field(known.index(name)).type
            )
    for name in known:
        if name not in names and not wanted.field(known.index(name)).nullable:
            yield f"{path}.{name}", "is missing, and may not be null"
