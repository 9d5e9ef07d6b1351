"""Schemas as files: they are read back as written, and all problems are reported together.

Reading and writing are pure; an ``init`` for each drawn schema would take minutes.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph_l2 import EdgeType, GraphSchema, NodeType
from omnigraph_l2._cli.formats.schema_toml import schema_from_toml, schema_to_toml
from omnigraph_l2._cli.formats.type_syntax import UnknownType, type_from_text, type_to_text
from omnigraph_l2.errors import InvalidSchema

UNITS = st.sampled_from(["s", "ms", "us", "ns"])
FLAT = st.one_of(
    st.sampled_from(
        [
            pa.string(), pa.bool_(), pa.binary(), pa.large_binary(), pa.date32(), pa.date64(),
            pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
            pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.time32("s"),
            pa.time32("ms"), pa.time64("us"), pa.time64("ns"),
        ]
    ),
    st.integers(1, 40).map(pa.binary),
    UNITS.map(pa.duration),
    st.builds(
        pa.timestamp, UNITS,
        st.sampled_from([None, "UTC", "+05:30", "Etc/GMT+5", "America/Port-au-Prince"]),
    ),
    st.builds(pa.decimal128, st.integers(1, 38), st.integers(-5, 10)),
    st.builds(pa.decimal256, st.integers(1, 76), st.integers(-5, 10)),
)  # fmt: skip
NAMES = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="$.`"), min_size=1, max_size=8
).filter(lambda name: bool(name.strip()) and not name.startswith("_row"))


def _fields(
    types: st.SearchStrategy[pa.DataType], names: st.SearchStrategy[str]
) -> st.SearchStrategy[pa.Field]:
    return st.builds(pa.field, names, types, nullable=st.booleans())


def _name(field: pa.Field) -> str:
    return str(field.name)


def _nested(inner: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    items = _fields(inner, st.just("item") | NAMES)
    return st.one_of(
        items.map(pa.list_),
        items.map(pa.large_list),
        st.builds(pa.list_, _fields(FLAT, st.just("item")), st.integers(1, 9)),
        st.lists(_fields(inner, NAMES), max_size=3, unique_by=_name).map(pa.struct),
        st.builds(
            lambda key, item, sorted_: pa.map_(key, item, keys_sorted=sorted_),
            FLAT, _fields(inner, st.just("value")), st.booleans(),
        ),
    )  # fmt: skip


TYPES = st.recursive(FLAT, _nested, max_leaves=5)


@given(TYPES)
@settings(max_examples=150, deadline=None)
def test_a_type_is_read_back_as_it_was(type_: pa.DataType) -> None:
    """Every type that a schema can have is written, and read as an equal one."""
    word = type_to_text(type_)
    assert type_from_text(word) == type_
    assert str(type_from_text(word)) == str(type_)
    assert type_to_text(type_from_text(word)) == word


@st.composite
def _declared(draw: st.DrawFn) -> dict[str, object]:
    properties = draw(
        st.dictionaries(
            NAMES.filter(lambda each: each not in {"id", "src", "dst"}), TYPES, max_size=4
        )
    )
    some = st.sets(st.sampled_from(sorted(properties))) if properties else st.just(set())
    return {
        "properties": properties,
        "required": [name for name in properties if name in draw(some)],
        "unique": [name for name in properties if name in draw(some)],
        "indexes": dict.fromkeys(draw(some), "btree"),
    }


@st.composite
def _schemas(draw: st.DrawFn) -> GraphSchema:
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique_by=str.casefold))
    ends = st.sampled_from(names)
    edges = draw(st.lists(NAMES, max_size=2, unique_by=str.casefold))
    return GraphSchema(
        nodes=[NodeType(name, **draw(_declared())) for name in names],  # type: ignore[arg-type]
        edges=[EdgeType(name, draw(ends), draw(ends), **draw(_declared())) for name in edges],  # type: ignore[arg-type]
    )


@given(_schemas())
@settings(max_examples=60, deadline=None)
def test_a_schema_is_read_back_as_it_was(schema: GraphSchema) -> None:
    """All that a schema says is in the file: names, types, ends, constraints, indexes."""
    again = schema_from_toml(schema_to_toml(schema))
    assert again == schema
    assert [list(each.properties) for each in again.types] == [
        list(each.properties) for each in schema.types
    ]


@pytest.mark.parametrize(
    ("short", "type_"),
    [
        ("text", pa.string()), ("int", pa.int64()), ("double", pa.float64()),
        ("date", pa.date32()), ("timestamp", pa.timestamp("us")),
        ("decimal(10,2)", pa.decimal128(10, 2)), ("list< int8 >", pa.list_(pa.int8())),
        ("timestamp[us, tz=UTC]", pa.timestamp("us", "UTC")), ("bytes", pa.binary()),
    ],
)  # fmt: skip
def test_short_type_names_are_accepted(short: str, type_: pa.DataType) -> None:
    """The type names of other programs are accepted."""
    assert type_from_text(short) == type_


@pytest.mark.parametrize(
    "word",
    [
        "", "strin", "list", "list<", "list<int8", "list<int8>>", "decimal(10)", "decimal(99, 2)",
        "timestamp[years]", "map<string>", "struct<a int8>", "time32[us]", "int8[3]", '"',
        "binary[x]", "list<int8>[-1x]",
    ],
)  # fmt: skip
def test_an_invalid_type_is_reported(word: str) -> None:
    """The message has the text and what was expected."""
    with pytest.raises(UnknownType, match="expected"):
        type_from_text(word)


def test_all_problems_are_reported_together() -> None:
    """Each problem has its position."""
    with pytest.raises(InvalidSchema) as found:
        schema_from_toml(
            """
            extra = 1
            [nodes.Person]
            propertis = {}
            [nodes.Person.properties]
            age = "in32"
            name = { type = "string", requird = true, unique = 1 }
            [edges.Knows]
            source = 3
            """
        )
    result = "\n".join(found.value.problems)
    for expected in (
        "'extra'", "propertis", "nodes.Person.properties.age: Invalid type 'in32'", "requird",
        "name.unique must be true or false", "edges.Knows.source",
    ):  # fmt: skip
        assert expected in result, result
