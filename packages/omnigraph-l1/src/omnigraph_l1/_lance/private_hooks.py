"""What this package uses of pylance beyond its documented interface.

Invariant: each hook is checked where it is used. If pylance changed it, ``UnsupportedPylance``
names the hook, the version found and the versions supported, before anything is written. For a new
version of pylance only this module has to be reviewed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import lance
from lance.fragment import RowIdMeta, RowIdSequence
from lance.schema import LanceSchema

from omnigraph_l1._text_encoding import decode_json, encode_json
from omnigraph_l1.errors import UnsupportedPylance

__all__ = [
    "SUPPORTED",
    "file_name",
    "is_rust_panic",
    "new_session",
    "original_fragments",
    "row_id_metadata",
    "serialize_row_ids",
    "unpack_schema",
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


def unpack_schema(schema: LanceSchema) -> tuple[Callable[..., LanceSchema], Any, list[bytes]]:
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
