"""The kinds of indexes that can be declared, and what each is for. Pure.

Invariant: ``repo.optimize`` builds and maintains declared indexes, and no result depends on whether
an index exists, except that Lance searches words only with an index of words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import pyarrow as pa

from omnigraph_l1 import IndexKind

__all__ = ["INDEX_KINDS", "index_problems"]

_Fits = Callable[[pa.DataType], bool]


def _is_scalar(type_: pa.DataType) -> bool:
    return not (pa.types.is_nested(type_) or pa.types.is_binary(type_))


def _is_vector(type_: pa.DataType) -> bool:
    return pa.types.is_fixed_size_list(type_) and bool(pa.types.is_floating(type_.value_type))


INDEX_KINDS: Mapping[str, IndexKind] = MappingProxyType(
    {
        "btree": IndexKind.BTREE,
        "bitmap": IndexKind.BITMAP,
        "ngram": IndexKind.NGRAM,
        "full_text": IndexKind.INVERTED,
        "vector": IndexKind.IVF_FLAT,
    }
)
"""The words for kinds of indexes."""

_FITS: Mapping[str, tuple[_Fits, str]] = {
    "btree": (_is_scalar, "single values"),
    "bitmap": (_is_scalar, "single values"),
    "ngram": (pa.types.is_string, "text"),
    "full_text": (pa.types.is_string, "text"),
    "vector": (_is_vector, "fixed-size lists of floats"),
}


def index_problems(
    type_name: str, properties: Mapping[str, pa.DataType], indexes: Mapping[str, str]
) -> Iterator[str]:
    """Return what is wrong with declared indexes."""
    for name, kind in indexes.items():
        if name not in properties:
            yield f"{type_name!r} has an index on {name!r}, which is no property of it"
        elif kind not in INDEX_KINDS:
            known = ", ".join(map(repr, INDEX_KINDS))
            yield f"the index on {name!r} of {type_name!r} is one of {known}, found {kind!r}"
        else:
            fits, wanted = _FITS[kind]
            type_ = properties[name]
            if isinstance(type_, pa.DataType) and not fits(type_):
                yield (
                    f"a {kind!r} index is for {wanted}, and property {name!r} of {type_name!r} is "
                    f"{type_}"
                )
