"""Schemas for node and edge tables, made of types that Lance gives back as it got them.

Invariant: ``id`` comes first, a string that is not null; edges go on with ``src`` and ``dst``.
Every type was seen to survive writing, reading, upserting and compacting in storage version 2.2; a
test shows it for each, and for those that are left out what happens instead.
"""

from __future__ import annotations

from typing import Any, Literal

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from omnigraph_testing._extras import needs_graph
from omnigraph_testing.errors import InvalidOption
from omnigraph_testing.strategies._graph_names import type_names

__all__ = ["property_types", "schemas"]

_UNITS = ("s", "ms", "us", "ns")
_ZONES = (None, "UTC", "Europe/Berlin", "+05:30")
_WIDEST_DECIMAL = 38
_LONGEST_VECTOR = 4
_KEYS: dict[str, tuple[str, ...]] = {"node": ("id",), "edge": ("id", "src", "dst")}


def property_types(*, max_depth: int = 2) -> SearchStrategy[Any]:
    """Types of properties. Lists and structs nest up to ``max_depth``.

    A struct never stands directly in a struct: Lance panics when such an array is a slice.
    """
    flat = _flat_types()
    found = flat
    for _ in range(max_depth):
        found = flat | _nested(found)
    return found


def _flat_types() -> SearchStrategy[Any]:
    with needs_graph("omnigraph_testing.strategies"):
        import pyarrow as pa  # noqa: PLC0415 - some strategies work without it

    numbers = [pa.int8, pa.int16, pa.int32, pa.int64, pa.uint8, pa.uint16, pa.uint32, pa.uint64]
    plain = [make() for make in (*numbers, pa.float32, pa.float64, pa.bool_, pa.string, pa.binary)]
    units, zones = st.sampled_from(_UNITS), st.sampled_from(_ZONES)
    return st.one_of(
        st.sampled_from(plain),
        st.sampled_from([pa.date32(), pa.date64(), pa.binary(4)]),
        st.sampled_from([pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]),
        st.builds(pa.timestamp, units, zones),
        st.builds(pa.duration, units),
        st.integers(1, _WIDEST_DECIMAL).flatmap(
            lambda precision: st.builds(
                pa.decimal128, st.just(precision), st.integers(0, precision)
            )
        ),
        st.builds(
            pa.list_,
            st.sampled_from([pa.float32(), pa.float64(), pa.int8(), pa.int64()]),
            st.integers(1, _LONGEST_VECTOR),
        ),
    )


def _nested(inner: SearchStrategy[Any]) -> SearchStrategy[Any]:
    with needs_graph("omnigraph_testing.strategies"):
        import pyarrow as pa  # noqa: PLC0415 - some strategies work without it

    in_struct = inner.filter(lambda type_: not pa.types.is_struct(type_))
    fields = st.lists(
        st.tuples(st.sampled_from("abcd"), in_struct),
        min_size=1,
        max_size=3,
        unique_by=lambda field: field[0],
    )
    return st.builds(pa.list_, inner) | fields.map(pa.struct)


@st.composite
def schemas(
    draw: DrawFn,
    kind: Literal["node", "edge"] = "node",
    *,
    max_properties: int = 5,
    types: SearchStrategy[Any] | None = None,
    names: SearchStrategy[str] | None = None,
) -> Any:
    """Draw a ``pyarrow.Schema`` for a node or an edge table.

    ``types`` replaces ``property_types()``, ``names`` replaces ``type_names()`` for the properties.
    Two properties never differ by case alone.
    """
    with needs_graph("omnigraph_testing.strategies"):
        import pyarrow as pa  # noqa: PLC0415 - some strategies work without it

    if kind not in _KEYS:
        raise InvalidOption(option="kind", found=repr(kind), expected="'node' or 'edge'")
    taken = _KEYS[kind]
    names = type_names() if names is None else names
    usable = names.filter(lambda name: name.casefold() not in taken)
    properties = draw(
        st.lists(
            st.tuples(usable, property_types() if types is None else types, st.booleans()),
            max_size=max_properties,
            unique_by=lambda one: one[0].casefold(),
        )
    )
    keys = [pa.field(name, pa.string(), nullable=False) for name in taken]
    fields = [pa.field(name, type_, nullable=nullable) for name, type_, nullable in properties]
    return pa.schema(keys + fields)
