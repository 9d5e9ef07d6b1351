"""What this package uses of pylance beyond its documented interface.

Invariant: each hook is checked where it is used. If pylance changed it, ``UnsupportedPylance``
names the hook, the version found and the versions supported, before anything is written. For a new
version of pylance only this module has to be reviewed.

Among them are Lance's own schemas: a column keeps its number for as long as it is there, and a new
one gets a number that no data file and no column bears; a schema of Arrow knows no numbers, and
Lance would give those of other columns. pylance shows its schemas and cannot make them, but pickles
them as one protobuf message for each field, parents first; a number that is appended to such a
message counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import lance
import pyarrow as pa
from lance.fragment import RowIdMeta, RowIdSequence
from lance.schema import LanceSchema

from omnigraph_l1._text_encoding import decode_json, encode_json
from omnigraph_l1.errors import UnsupportedPylance

__all__ = [
    "SUPPORTED",
    "add_fields",
    "column_identities",
    "columns_of",
    "drop_fields",
    "file_name",
    "is_rust_panic",
    "new_session",
    "original_fragments",
    "row_id_metadata",
    "serialize_row_ids",
    "with_metadata",
]

SUPPORTED: Final = "14.0.2 to below 15"
"""The versions of pylance that these hooks were seen in."""

_PANIC: Final = "PanicException"


@contextmanager
def _hook(name: str) -> Iterator[None]:
    """Raise ``UnsupportedPylance`` if the block finds the hook changed."""
    try:
        yield
    except (AttributeError, ImportError, KeyError, TypeError, ValueError) as error:
        raise UnsupportedPylance(
            hook=name, found=str(getattr(lance, "__version__", "unknown")), supported=SUPPORTED
        ) from error


def _unpack_schema(schema: LanceSchema) -> tuple[Callable[..., LanceSchema], Any, list[bytes]]:
    """Return what pickling a schema uses: a constructor, metadata, one message for each field.

    The messages are those of protobuf, parents before their children.
    """
    with _hook("LanceSchema.__reduce__"):
        pickled: Any = schema.__reduce__()
        make, (metadata, *messages) = pickled
        fields = sum(_count(field) for field in schema.fields())
        if len(messages) != fields or not all(isinstance(each, bytes) for each in messages):
            raise ValueError(messages)
        return make, metadata, messages


def _count(field: Any) -> int:
    return 1 + sum(_count(child) for child in field.children())


def with_metadata(schema: LanceSchema, values: Mapping[str, str]) -> LanceSchema:
    """Return the schema with more metadata. pickling has it as JSON, each value as bytes."""
    make, metadata, messages = _unpack_schema(schema)
    with _hook("metadata in LanceSchema.__reduce__"):
        known: Any = decode_json(metadata)
        more = {name: list(value.encode()) for name, value in values.items()}
        return make(encode_json({**known, **more}), *messages)


def new_session(*, metadata_bytes: int, index_bytes: int) -> Any:
    """Return caches of the given sizes. By default Lance keeps up to 7 GB for each dataset."""
    with _hook("lance.Session"):
        make: Any = lance.Session  # type: ignore[attr-defined]  # it is in no list of names
        return make(metadata_cache_size_bytes=metadata_bytes, index_cache_size_bytes=index_bytes)


def serialize_row_ids(ids: Sequence[int]) -> bytes:
    """Return row ids as a fragment's metadata holds them."""
    with _hook("RowIdSequence.to_inline_metadata"):
        return bytes(decode_json(RowIdSequence(ids).to_inline_metadata().json())["Inline"])


def row_id_metadata(ids: bytes) -> RowIdMeta:
    """Return the metadata of row ids that ``serialize_row_ids`` wrote."""
    with _hook("RowIdMeta.from_json"):
        meta: Any = RowIdMeta  # its stub declares a method instead of a class method
        made: RowIdMeta = meta.from_json(encode_json({"Inline": list(ids)}))
        return made


def original_fragments(rewrite: Any) -> Iterable[Any]:
    """Return the fragments that a compaction's rewrite replaces. The stub uses another name."""
    with _hook("RewriteResult.original_fragments"):
        fragments: Iterable[Any] = rewrite.original_fragments
        return fragments


def file_name(file: Any) -> str:
    """Return the name of a data file. Its property ``path`` makes a class for each answer."""
    name = vars(file).get("_path")
    if type(name) is str:
        return name
    with _hook("DataFile._path"):
        raise AttributeError(name)


def is_rust_panic(error: BaseException) -> bool:
    """Return whether an exception is a panic of Rust. Its class cannot be imported."""
    return type(error).__name__ == _PANIC


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
    make, metadata, messages = _unpack_schema(schema)
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
    _, _, messages = _unpack_schema(added)
    parents = [parent for field in added.fields() for parent in _parents(field, None)]
    ids = [member.id() for field in added.fields() for member in _family(field)]
    numbers = {old: first_id + position for position, old in enumerate(ids)}
    renumbered = [
        message
        + _number(_ID, numbers[old])
        + (b"" if parent is None else _number(_PARENT_ID, numbers[parent]))
        for message, old, parent in zip(messages, ids, parents, strict=True)
    ]
    make, metadata, present = _unpack_schema(schema)
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
