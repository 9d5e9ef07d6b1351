"""Lance's own schemas: columns added and left out, with the numbers by which data files name them.

Invariant: a column keeps its number for as long as it is there, and a new one gets a number that no
data file and no column bears; a schema of Arrow knows no numbers, and Lance would give those of
other columns. pylance shows its schemas and cannot make them, but pickles them as one protobuf
message for each field, parents first; a number that is appended to such a message counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import pyarrow as pa
from lance.schema import LanceSchema

from omnigraph_l1._lance.private_hooks import unpack_schema
from omnigraph_l1._text_encoding import encode_json

__all__ = ["add_fields", "column_identities", "columns_of", "drop_fields"]

_ID, _PARENT_ID = 0x18, 0x20  # tags of Lance's message for a field: a number, as a varint
_SEVEN_BITS, _MORE = 0x7F, 0x80


def columns_of(schema: LanceSchema) -> str:
    """Write down the columns with their numbers: where it is equal, data files mean the same."""
    return encode_json([_column(field) for field in schema.fields()])


def column_identities(schema: LanceSchema) -> dict[str, str]:
    """Return the numbers and the type of each column, as text, by name."""
    columns = [_column(field) for field in schema.fields()]
    return {name: encode_json([numbers, type_]) for name, numbers, type_, _ in columns}


def drop_fields(schema: LanceSchema, names: Collection[str]) -> LanceSchema:
    """Leave columns out."""
    make, metadata, messages = unpack_schema(schema)
    kept: list[bytes] = []
    rest = iter(messages)
    for field in schema.fields():
        own = [next(rest) for _ in _family(field)]
        if field.name() not in names:
            kept += own
    return make(metadata, *kept)


def add_fields(schema: LanceSchema, fields: Iterable[pa.Field], *, first_id: int) -> LanceSchema:
    """Add columns at the end, numbered from ``first_id`` on."""
    added = LanceSchema.from_pyarrow(pa.schema(list(fields)))
    _, _, messages = unpack_schema(added)
    parents = [parent for field in added.fields() for parent in _parents(field, None)]
    ids = [member.id() for field in added.fields() for member in _family(field)]
    numbers = {old: first_id + position for position, old in enumerate(ids)}
    renumbered = [
        message
        + _number(_ID, numbers[old])
        + (b"" if parent is None else _number(_PARENT_ID, numbers[parent]))
        for message, old, parent in zip(messages, ids, parents, strict=True)
    ]
    make, metadata, present = unpack_schema(schema)
    return make(metadata, *present, *renumbered)


def _column(field: Any) -> list[Any]:
    numbers = [member.id() for member in _family(field)]
    column = field.to_arrow()
    return [field.name(), numbers, str(column.type), column.nullable]


def _family(field: Any) -> Iterator[Any]:
    """Return a field and all below it, parents first, as their messages stand."""
    yield field
    for child in field.children():
        yield from _family(child)


def _parents(field: Any, parent: int | None) -> Iterator[int | None]:
    yield parent
    for child in field.children():
        yield from _parents(child, field.id())


def _number(tag: int, value: int) -> bytes:
    encoded = bytearray([tag])
    while value > _SEVEN_BITS:
        encoded.append(value & _SEVEN_BITS | _MORE)
        value >>= 7
    return bytes([*encoded, value])
