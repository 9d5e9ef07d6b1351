"""Whether values are equal, for all types that a property can have. Pure.

Invariant: null equals null and nothing else. Floats are equal if their bits are equal, and NaN
equals NaN. Lists are equal if their lengths are and their items in order; structs if their fields
are. A column that only one of two rows has counts as null in the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["same_rows", "same_values"]

_Mask = npt.NDArray[np.bool_]

_BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def same_rows(before: pa.Table, after: pa.Table) -> _Mask:
    """Return which rows equal those at the same position in the other table."""
    same = np.ones(before.num_rows, dtype=np.bool_)
    for name in dict.fromkeys([*before.schema.names, *after.schema.names]):
        if name not in after.schema.names:
            same &= _nulls(_one_chunk(before, name))
        elif name not in before.schema.names:
            same &= _nulls(_one_chunk(after, name))
        else:
            same &= same_values(_one_chunk(before, name), _one_chunk(after, name))
    return same


def same_values(one: pa.Array, other: pa.Array) -> _Mask:
    """Return which values equal those at the same position in the other array."""
    nulls, others = _nulls(one), _nulls(other)
    if one.type != other.type:
        return nulls & others
    same: _Mask = nulls == others
    both = np.flatnonzero(~nulls & ~others)
    if len(both) == len(same):
        return _same_present(one, other)
    if len(both):
        chosen = pa.array(both)
        same[both] = _same_present(one.take(chosen), other.take(chosen))
    return same


def _same_present(one: Any, other: Any) -> _Mask:
    """Compare values of one type of which none is null."""
    type_ = one.type
    if isinstance(type_, pa.BaseExtensionType):
        return _same_present(one.storage, other.storage)
    if pa.types.is_floating(type_):
        return _same_floats(one, other)
    if pa.types.is_struct(type_):
        same = np.ones(len(one), dtype=np.bool_)
        for index in range(type_.num_fields):
            same &= same_values(_field(one, index), _field(other, index))
        return same
    if pa.types.is_fixed_size_list(type_):
        items = same_values(one.flatten(), other.flatten())
        return np.asarray(items.reshape(len(one), type_.list_size).all(axis=1), dtype=np.bool_)
    if pa.types.is_nested(type_):
        return _same_lists(one, other)
    return _bools(pc.equal(one, other))


def _same_floats(one: pa.Array, other: pa.Array) -> _Mask:
    mine, others = (each.to_numpy(zero_copy_only=False) for each in (one, other))
    bits = _BITS[one.type.bit_width // 8]
    same = np.equal(mine.view(bits), others.view(bits))
    return np.asarray(same | (np.isnan(mine) & np.isnan(others)), dtype=np.bool_)


def _same_lists(one: Any, other: Any) -> _Mask:
    """Compare the items of lists of equal length; a map is a list of its entries."""
    mine, others = _lengths(one), _lengths(other)
    same: _Mask = mine == others
    filled = np.flatnonzero(same & (mine > 0))
    if len(filled):
        chosen = pa.array(filled)
        one, other = one.take(chosen), other.take(chosen)
        items = same_values(_items(one), _items(other))
        starts = np.concatenate([[0], np.cumsum(mine[filled])[:-1]])
        same[filled] = np.logical_and.reduceat(items, starts)
    return same


def _lengths(lists: Any) -> npt.NDArray[np.int64]:
    offsets = lists.offsets.to_numpy().astype(np.int64)
    lengths: npt.NDArray[np.int64] = offsets[1:] - offsets[:-1]
    return lengths


def _items(lists: Any) -> pa.Array:
    """Return the items of all lists, of which none is null, one after the other."""
    offsets = lists.offsets
    start, end = offsets[0].as_py(), offsets[-1].as_py()
    return lists.values.slice(start, end - start)


def _field(structs: Any, index: int) -> pa.Array:
    return structs.field(index)


def _nulls(values: pa.Array) -> _Mask:
    if not values.null_count:
        return np.zeros(len(values), dtype=np.bool_)
    return _bools(values.is_null())


def _bools(values: pa.Array) -> _Mask:
    mask: _Mask = values.to_numpy(zero_copy_only=False).astype(np.bool_)
    return mask


def _one_chunk(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
