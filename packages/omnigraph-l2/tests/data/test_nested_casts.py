"""Strings, bytes, lists, structs and maps keep what is in them, in whatever layout they came."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import types
from row_input import DataProblems, incoming

LAYOUTS = {
    pa.string(): [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())],
    pa.binary(): [pa.large_binary(), pa.binary_view(), pa.dictionary(pa.int16(), pa.binary())],
    pa.int32(): [pa.int64(), pa.uint64(), pa.float64(), pa.dictionary(pa.int32(), pa.int32())],
    pa.bool_(): [],
}
VALUES = {
    pa.string(): st.text(max_size=4),
    pa.binary(): st.binary(max_size=4),
    pa.int32(): st.integers(0, 9),
    pa.bool_(): st.booleans(),
}
LEAVES = st.sampled_from(list(LAYOUTS))


def _structs(inner: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    fields = st.lists(st.tuples(inner, st.booleans()), min_size=1, max_size=3)
    return fields.map(
        lambda parts: pa.struct(
            [pa.field(f"f{n}", type_, nullable) for n, (type_, nullable) in enumerate(parts)]
        )
    )


TYPES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.booleans()).map(lambda t: pa.list_(pa.field("item", *t))),
        inner.map(pa.large_list),
        st.tuples(inner, st.integers(1, 3)).map(lambda t: pa.list_(*t)),
        st.tuples(st.just(pa.string()), inner).map(lambda t: pa.map_(*t)),
        _structs(inner),
    ),
    max_leaves=4,
)


def values_of(type_: pa.DataType, *, nullable: bool = True) -> st.SearchStrategy[Any]:
    """Values of a type, as Arrow gives them back."""
    if types.is_map(type_):
        pair = st.tuples(values_of(type_.key_type, nullable=False), values_of(type_.item_type))
        values: st.SearchStrategy[Any] = st.lists(pair, max_size=3, unique_by=lambda p: p[0])
    elif types.is_struct(type_):
        fields = [type_.field(n) for n in range(type_.num_fields)]
        values = st.fixed_dictionaries(
            {f.name: values_of(f.type, nullable=f.nullable) for f in fields}
        )
    elif types.is_nested(type_):
        item = values_of(type_.value_type, nullable=type_.value_field.nullable)
        exactly = type_.list_size if types.is_fixed_size_list(type_) else None
        values = st.lists(item, min_size=exactly or 0, max_size=exactly or 3)
    else:
        values = VALUES[type_]
    return values | st.none() if nullable else values


@st.composite
def layouts_of(draw: st.DrawFn, type_: pa.DataType) -> pa.DataType:
    """Other types that can hold the same values."""
    if types.is_map(type_):
        return pa.map_(draw(layouts_of(type_.key_type)), draw(layouts_of(type_.item_type)))
    if types.is_struct(type_):
        fields = [type_.field(n) for n in draw(st.permutations(range(type_.num_fields)))]
        return pa.struct([pa.field(f.name, draw(layouts_of(f.type))) for f in fields])
    if types.is_nested(type_):
        inner = draw(layouts_of(type_.value_type))
        lists = [pa.list_(inner), pa.large_list(inner), pa.list_view(inner)]
        if types.is_fixed_size_list(type_):
            lists.append(pa.list_(inner, type_.list_size))
        return draw(st.sampled_from(lists))
    return draw(st.sampled_from([type_, *LAYOUTS[type_]]))


@st.composite
def columns(draw: st.DrawFn) -> tuple[pa.DataType, pa.DataType, list[Any]]:
    """A type, another that can hold the same, and values."""
    wanted = draw(TYPES)
    return wanted, draw(layouts_of(wanted)), draw(st.lists(values_of(wanted), max_size=5))


def _table(values: list[Any], type_: pa.DataType) -> pa.Table:
    return pa.table({"c": pa.chunked_array([pa.array(values, type_)], type_)})


@given(columns(), st.integers(0, 3))
def test_what_is_inside_stays_in_every_layout(
    case: tuple[pa.DataType, pa.DataType, list[Any]], skipped: int
) -> None:
    """Values are equal afterwards, the type is the wanted one, and slices are read as slices."""
    wanted, found, values = case
    table = _table(values, found).slice(min(skipped, len(values)))
    schema = pa.schema([pa.field("c", wanted)])
    result = incoming(table, schema, what="t", ids=()).reader().read_all()
    result.validate(full=True)
    assert result.schema == schema
    assert result.column(0).to_pylist() == table.column(0).to_pylist() == values[skipped:]


@given(columns())
def test_python_values_become_what_arrow_would_hold(
    case: tuple[pa.DataType, pa.DataType, list[Any]],
) -> None:
    """Nested Python values come out as they went in."""
    wanted, _, values = case
    schema = pa.schema([pa.field("c", wanted)])
    rows = [{"c": value} for value in values]
    result = incoming(rows, schema, what="t", ids=()).reader().read_all()
    result.validate(full=True)
    assert result.column(0).to_pylist() == values


STRUCT = pa.struct([pa.field("x", pa.int8(), nullable=False), pa.field("y", pa.string())])


@pytest.mark.parametrize(
    ("wanted", "array", "problem"),
    [
        (pa.string(), pa.array([1]), "c: should be string, found int64"),
        (pa.string(), pa.array([b"x"]), "c: should be string, found binary"),
        (pa.int8(), pa.array(["1"]), "c: should be int8, found string"),
        (pa.bool_(), pa.array([1]), "c: should be bool, found int64"),
        (pa.int8(), pa.array([True]), "c: should be int8, found bool"),
        (pa.int8(), pa.array([[1]]), "c: should be int8, found list"),
        (pa.list_(pa.int8()), pa.array([["a"]]), "c[]: should be int8, found string"),
        (pa.list_(pa.int8()), pa.array([[1], [2, 300]]), "c[]: 300 does not fit int8 (row 1)"),
        (pa.list_(pa.int8(), 2), pa.array([None, [1]]), "c: has 1 items, and must have 2 (row 1)"),
        (
            pa.list_(pa.int8(), 2),
            pa.array([[1]], pa.list_(pa.int8(), 1)),
            "number of items differs",
        ),
        (
            pa.list_(pa.field("item", pa.int8(), nullable=False)),
            pa.array([[], [1], [1, None]]),
            "c[]: is null, but may not be (row 2)",
        ),
        (STRUCT, pa.array([None, {"x": None}]), "c.x: is null, but may not be (row 1)"),
        (STRUCT, pa.array([{"y": "a"}]), "c.x: is missing, and may not be null"),
        (STRUCT, pa.array([{"x": 1, "z": 1}]), "c.z: is no field of c, which has 'x', 'y'"),
        (STRUCT, pa.array([{"x": 1}, {"x": 128}]), "c.x: 128 does not fit int8 (row 1)"),
        (
            pa.map_(pa.string(), pa.int8()),
            pa.array([[], [("a", 1), ("b", 999)]], pa.map_(pa.string(), pa.int64())),
            "c.value: 999 does not fit int8 (row 1)",
        ),
        (
            pa.map_(pa.string(), pa.int8(), keys_sorted=True),
            pa.array([], pa.map_(pa.string(), pa.int8())),
            "not known to be sorted",
        ),
        (pa.binary(2), pa.array([b"ab", b"abc"]), "c: b'abc' does not have 2 bytes (row 1)"),
        (pa.binary(2), pa.array([b"abc"], pa.binary(3)), "the number of bytes differs"),
        (pa.binary(), pa.array(["x"]), "c: should be binary, found string"),
        (
            pa.string(),
            pa.array([b"ok", "\ud800".encode("utf-8", "surrogatepass")]).view(pa.string()),
            "c: is not valid UTF-8 (row 1)",
        ),
        (
            pa.list_(pa.string()),
            pa.ListArray.from_arrays([0, 1, 2], pa.array([b"ok", b"\xff"]).view(pa.string())),
            "c[]: is not valid UTF-8 (row 1)",
        ),
        (
            pa.string(),
            pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array(["a"]), safe=False),
            "c: cannot be turned into string",
        ),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(
    wanted: pa.DataType, array: pa.Array, problem: str
) -> None:
    """The message has the path into the column, the row where there is one, and both types."""
    schema = pa.schema([pa.field("c", wanted)])
    with pytest.raises(DataProblems) as caught:
        incoming(pa.table({"c": array}), schema, what="t", ids=()).reader().read_all()
    assert len(caught.value.problems) == 1
    assert problem in str(caught.value)


@pytest.mark.parametrize("wanted", [pa.int8(), pa.string(), pa.list_(pa.int8(), 3), STRUCT])
def test_nulls_of_no_type_become_nulls_of_any(wanted: pa.DataType) -> None:
    """A column that is null throughout fits each nullable column, and no other."""
    table = pa.table({"c": pa.nulls(2)})
    schema = pa.schema([pa.field("c", wanted)])
    assert incoming(table, schema, what="t", ids=()).reader().read_all().column(0).null_count == 2
    strict = pa.schema([pa.field("c", wanted, nullable=False)])
    with pytest.raises(DataProblems, match=r"c: is null, but may not be \(row 0\)"):
        incoming(table, strict, what="t", ids=()).reader().read_all()


def test_a_null_hidden_in_a_dictionary_is_found() -> None:
    """A dictionary entry that is null is a null, though its index is not."""
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    schema = pa.schema([pa.field("c", pa.string(), nullable=False)])
    with pytest.raises(DataProblems, match=r"c: is null, but may not be \(row 1\)"):
        incoming(pa.table({"c": array}), schema, what="t", ids=()).reader().read_all()


def test_a_field_that_may_not_be_null_is_not_even_under_a_null() -> None:
    """Readers that look at a field by itself find no null where the schema says there is none."""
    schema = pa.schema([pa.field("c", STRUCT)])
    table = pa.table({"c": pa.array([None, {"x": 5}, None])})
    for data in (table, table.to_pylist()):
        (batch,) = incoming(data, schema, what="t", ids=())
        assert batch.column(0).field(0).null_count == 0
        assert batch.column(0).to_pylist() == [None, {"x": 5, "y": None}, None]
