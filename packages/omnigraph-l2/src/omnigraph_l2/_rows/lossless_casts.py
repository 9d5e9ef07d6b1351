"""Cast a column to the type of a table's field, wherever that changes no value.

Invariant: the result has the wanted type and as many entries as the column. A value that does not
fit, or is null where null is not allowed, is noted with its row. A column with a noted problem has
undefined content and must not be used. ``cast_rules`` has checked the types before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from omnigraph_l2._rows.cast_rules import entries_type, family, field_names, is_text
from omnigraph_l2._rows.data_problems import Findings, Lengths, Spot
from omnigraph_l2._rows.number_and_time_casts import number_cast, time_cast

__all__ = [
    "Within",
    "built_list",
    "built_struct",
    "cast_column",
    "cast_values",
    "make_guarded",
    "refuse_lengths",
    "refuse_nulls",
]

Within: TypeAlias = "pa.BooleanArray | None"
"""Which entries count; the others are below a parent that is null."""


def cast_column(array: pa.Array, field: pa.Field, findings: Findings, first_row: int) -> pa.Array:
    """Cast a column of a batch to a table's field. Problems count rows from ``first_row``."""
    spot = Spot(field.name, findings, row_of=lambda index: first_row + index)
    return make_guarded(lambda: _cast_field(array, field, spot), len(array), field.type, spot)


def make_guarded(
    make: Callable[[], pa.Array], length: int, wanted: pa.DataType, spot: Spot
) -> pa.Array:
    """Build a column; note Arrow's refusal too, unless it follows from a noted problem."""
    before = spot.findings.count
    try:
        return make()
    except (pa.ArrowException, MemoryError) as failure:
        if spot.findings.count == before:
            spot.refuse(f"cannot be turned into {wanted}: {failure}")
        return pa.nulls(length, wanted)


def refuse_nulls(array: pa.Array, spot: Spot, within: Within = None) -> None:
    """Note each null in a field that is not nullable."""
    if array.null_count:
        bad = array.is_null() if within is None else pc.and_(array.is_null(), within)
        spot.refuse_where(bad, array, "is null, but may not be")


def cast_values(array: pa.Array, wanted: pa.DataType, spot: Spot) -> pa.Array:
    """Cast values to a type; nulls stay null."""
    found = array.type
    if types.is_null(found):
        return pa.nulls(len(array), wanted)
    if found == wanted and not (is_text(wanted) or types.is_nested(wanted)):
        return array
    cast = _CASTS.get(family(wanted) or "")
    return array if cast is None else cast(array, wanted, spot)


def built_list(
    lengths: Lengths, items: pa.Array, nulls: pa.BooleanArray | None, wanted: pa.DataType
) -> pa.Array:
    """Return lists (or maps) of these lengths, made of items; null lists have length 0."""
    if types.is_fixed_size_list(wanted):
        if nulls is not None:
            items = items.take(_pad(lengths, nulls, wanted.list_size))
        return pa.FixedSizeListArray.from_arrays(items, type=wanted, mask=nulls)
    ends = pa.array(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), pa.int64())
    if types.is_large_list(wanted):
        return pa.LargeListArray.from_arrays(ends, items, type=wanted, mask=nulls)
    offsets = ends.cast(pa.int32())
    if types.is_map(wanted):
        keys, values = items.field(0), items.field(1)
        return pa.MapArray.from_arrays(offsets, keys, values, type=wanted, mask=nulls)
    return pa.ListArray.from_arrays(offsets, items, type=wanted, mask=nulls)


def built_struct(
    children: list[pa.Array], nulls: pa.BooleanArray | None, wanted: pa.StructType
) -> pa.Array:
    """Return structs, made of fields."""
    fields = [wanted.field(index) for index in range(wanted.num_fields)]
    children = [
        child if field.nullable else _without_nulls(child)
        for child, field in zip(children, fields, strict=True)
    ]
    return pa.StructArray.from_arrays(children, fields=fields, mask=nulls)


def _cast_field(array: pa.Array, field: pa.Field, spot: Spot, within: Within = None) -> pa.Array:
    if types.is_dictionary(array.type) and array.type != field.type:
        array = _decode(array)
    if not field.nullable:
        refuse_nulls(array, spot, within)
    return cast_values(array, field.type, spot)


def _decode(array: pa.DictionaryArray) -> pa.Array:
    if types.is_string_view(array.type.value_type):  # of which nothing can be taken
        array = pa.DictionaryArray.from_arrays(
            array.indices, array.dictionary.cast(pa.large_string())
        )
    elif types.is_binary_view(array.type.value_type):
        array = pa.DictionaryArray.from_arrays(
            array.indices, array.dictionary.cast(pa.large_binary())
        )
    return array.dictionary_decode()


def _text(array: pa.Array, wanted: pa.DataType, spot: Spot) -> pa.Array:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        for index in _failing(array, lambda part: part.validate(full=True)):
            spot.refuse_entry(index, "is not valid UTF-8")
        return pa.nulls(len(array), wanted)
    return array if array.type == wanted else array.cast(wanted)


def _failing(array: pa.Array, check: Callable[[pa.Array], None]) -> list[int]:
    failing, parts = [], [(0, len(array))]
    while parts:
        start, end = parts.pop()
        try:
            check(array.slice(start, end - start))
        except pa.ArrowInvalid:
            if end - start == 1:
                failing.append(start)
            else:
                middle = (start + end) // 2
                parts += [(middle, end), (start, middle)]
    return failing


def _bytes(array: pa.Array, wanted: pa.DataType, spot: Spot) -> pa.Array:
    if not types.is_fixed_size_binary(wanted):
        return array.cast(wanted)
    array = array.cast(pa.large_binary())
    wrong = pc.not_equal(pc.binary_length(array), wanted.byte_width)
    if spot.refuse_where(wrong, array, f"{{}} does not have {wanted.byte_width} bytes"):
        return pa.nulls(len(array), wanted)
    return array.cast(pa.binary()).cast(wanted)


def _structs(array: pa.StructArray, wanted: pa.StructType, spot: Spot) -> pa.Array:
    if not wanted.num_fields:
        return array
    within = array.is_valid()
    given = dict(zip(field_names(array.type), array.flatten(), strict=True))
    children = []
    for index in range(wanted.num_fields):
        field = wanted.field(index)
        child = given.get(field.name)
        if child is None:
            children.append(pa.nulls(len(array), field.type))
        else:
            children.append(_cast_field(child, field, spot.inside(field.name), within))
    return built_struct(children, _nulls(array), wanted)


def _lists(array: pa.Array, wanted: pa.DataType, spot: Spot) -> pa.Array:
    lengths = _lengths(array)
    items = _cast_field(array.flatten(), wanted.value_field, spot.items(lengths))
    nulls = _nulls(array)
    if types.is_fixed_size_list(wanted) and refuse_lengths(lengths, nulls, wanted, spot):
        return pa.nulls(len(array), wanted)
    return built_list(lengths, items, nulls, wanted)


def _maps(array: pa.MapArray, wanted: pa.MapType, spot: Spot) -> pa.Array:
    lists = array.cast(entries_type(array.type))
    lengths, entry = _lengths(lists), entries_type(wanted).value_type
    items = cast_values(lists.flatten(), entry, spot.items(lengths, suffix=""))
    return built_list(lengths, items, _nulls(array), wanted)


def _lengths(array: pa.Array) -> Lengths:
    lengths: Lengths = pc.fill_null(pc.list_value_length(array).cast(pa.int64()), 0).to_numpy()
    return lengths


def refuse_lengths(
    lengths: Lengths, nulls: pa.BooleanArray | None, wanted: pa.DataType, spot: Spot
) -> bool:
    """Note each list whose length is not the fixed length of the type."""
    wrong = pa.array(lengths != wanted.list_size)
    if nulls is not None:
        wrong = pc.and_not(wrong, nulls)
    return spot.refuse_where(
        wrong, pa.array(lengths), f"has {{}} items, and must have {wanted.list_size}"
    )


def _nulls(array: pa.Array) -> pa.BooleanArray | None:
    return array.is_null() if array.null_count else None


def _pad(lengths: Lengths, nulls: pa.BooleanArray, size: int) -> pa.Array:
    """Choose items for lists of a fixed size; under a null any item does."""
    there = ~nulls.to_numpy(zero_copy_only=False)
    positions = np.zeros((len(lengths), size), dtype=np.int64)
    positions[there] = np.arange(int(there.sum()) * size).reshape(-1, size)
    nothing = not there.any()
    return pa.array(positions.reshape(-1), mask=np.full(positions.size, nothing))


def _without_nulls(child: pa.Array) -> pa.Array:
    """Fill in any value where the struct is null, as far as a field is not nullable."""
    first = pc.index(child.is_valid(), value=True).as_py() if child.null_count else -1
    if first < 0:
        return child
    here = pa.array(np.arange(len(child)))
    return child.take(pc.if_else(child.is_valid(), here, first))


_CASTS: dict[str, Callable[[pa.Array, pa.DataType, Spot], pa.Array]] = {
    "text": _text,
    "bytes": _bytes,
    "integer": number_cast,
    "float": number_cast,
    "decimal": number_cast,
    "date": time_cast,
    "timestamp": time_cast,
    "time": time_cast,
    "duration": time_cast,
    "list": _lists,
    "struct": _structs,
    "map": _maps,
}
"""How each family of types is cast. Others are left alone, for only the very type is let in."""
