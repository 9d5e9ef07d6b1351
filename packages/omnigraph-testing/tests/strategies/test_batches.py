"""Schemas and rows: they fit, they vary, and they hold what breaks careless code."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from omnigraph_testing.errors import InvalidOption
from omnigraph_testing.strategies import batches, property_types, schemas, tables, values

SOME = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
SEARCH = settings(SOME, max_examples=3_000, phases=[Phase.generate])


@SOME
@given(schemas("node"), schemas("edge", max_properties=2))
def test_schemas_begin_with_their_keys(node: pa.Schema, edge: pa.Schema) -> None:
    """Keys come first, are strings and not null; no two columns differ by case alone."""
    assert node.names[:1] == ["id"]
    assert edge.names[:3] == ["id", "src", "dst"]
    for schema, keys in ((node, 1), (edge, 3)):
        assert all(
            field.type == pa.string() and not field.nullable for field in list(schema)[:keys]
        )
        assert len({name.casefold() for name in schema.names}) == len(schema.names)
    assert len(node.names) <= 6


@SOME
@given(st.data())
def test_rows_fit_their_schema(data: st.DataObject) -> None:
    """Every batch has exactly its schema, is valid, and has nulls where they are allowed only."""
    schema = data.draw(schemas())
    batch = data.draw(batches(schema, min_rows=2, max_rows=4))
    batch.validate(full=True)
    assert batch.schema.equals(schema)
    assert 2 <= len(batch) <= 4
    assert len(set(batch["id"].to_pylist())) == len(batch)
    for field, column in zip(schema, batch.columns, strict=True):
        assert field.nullable or not column.null_count
    assert len(batch.to_pylist()) == len(batch)


@SOME
@given(tables(schemas("edge"), unique_ids=False))
def test_tables_come_in_chunks(table: pa.Table) -> None:
    """A table is valid whatever its chunks, and can be read as Python objects."""
    table.validate(full=True)
    assert len(table.to_pylist()) == table.num_rows <= 10


WANTED = {
    "no row": lambda table: table.num_rows == 0,
    "an empty chunk beside rows": lambda table: (
        table.num_rows > 0 and 0 in map(len, table["id"].chunks)
    ),
    "several chunks": lambda table: table["id"].num_chunks > 1 and table.num_rows > 1,
    "an empty id": lambda table: "" in table["id"].to_pylist(),
    "an id with NUL": lambda table: any("\0" in one for one in table["id"].to_pylist()),
    "an id beyond the basic plane": lambda table: any(
        ord(letter) > 0xFFFF for one in table["id"].to_pylist() for letter in one
    ),
    "an id with a combining mark": lambda table: "e\u0301" in table["id"].to_pylist(),
    "a null": lambda table: table["n"].null_count > 0,
    "only nulls": lambda table: 0 < table["n"].null_count == table.num_rows,
    "the least integer": lambda table: -(2**63) in table["n"].to_pylist(),
    "the greatest integer": lambda table: 2**63 - 1 in table["n"].to_pylist(),
    "not a number": lambda table: any(map(is_nan, table["f"].to_pylist())),
    "infinity": lambda table: -math.inf in table["f"].to_pylist(),
    "negative zero": lambda table: any(
        one == 0 and math.copysign(1, one) < 0 for one in table["f"].to_pylist()
    ),
    "an empty list": lambda table: [] in table["l"].to_pylist(),
    "a null in a list": lambda table: any(one and None in one for one in table["l"].to_pylist()),
}
SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("n", pa.int64()),
        pa.field("f", pa.float64(), nullable=False),
        pa.field("l", pa.list_(pa.string())),
    ]
)


def is_nan(number: float) -> bool:
    """Say whether it is not a number."""
    return math.isnan(number)


@pytest.mark.parametrize("name", WANTED)
def test_awkward_rows_are_drawn(name: str) -> None:
    """Nulls, odd texts, the ends of numbers and emptiness all turn up."""
    find(tables(SCHEMA), WANTED[name], settings=SEARCH)


KINDS = {
    "a decimal": pa.types.is_decimal128,
    "a date": pa.types.is_date,
    "a time": pa.types.is_time,
    "a timestamp with a zone": lambda type_: pa.types.is_timestamp(type_) and type_.tz is not None,
    "a timestamp without": lambda type_: pa.types.is_timestamp(type_) and type_.tz is None,
    "a duration": pa.types.is_duration,
    "bytes": pa.types.is_binary,
    "a list of lists": lambda type_: pa.types.is_list(type_) and pa.types.is_list(type_.value_type),
    "a list of structs": lambda type_: (
        pa.types.is_list(type_) and pa.types.is_struct(type_.value_type)
    ),
    "a vector": pa.types.is_fixed_size_list,
    "a struct with a list": lambda type_: (
        pa.types.is_struct(type_) and any(pa.types.is_list(field.type) for field in type_)
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_type_is_drawn(name: str) -> None:
    """No kind of type is promised and never drawn."""
    find(property_types(), KINDS[name], settings=SEARCH)


def parts(type_: Any) -> list[Any]:
    """List a type and everything that it is made of."""
    inner = list(type_) if pa.types.is_struct(type_) else []
    inner += [type_.value_field] if pa.types.is_list(type_) else []
    return [type_, *(part for field in inner for part in parts(field.type))]


@settings(SOME, max_examples=400)
@given(property_types())
def test_no_struct_stands_in_a_struct(type_: Any) -> None:
    """Lance panics on those, so none is drawn, however deep."""
    structs = [part for part in parts(type_) if pa.types.is_struct(part)]
    assert not any(pa.types.is_struct(field.type) for part in structs for field in part)


def test_own_types_and_names() -> None:
    """A caller's types and names replace ours."""
    own = schemas(types=st.just(pa.int8()), names=st.just("age"), max_properties=1)
    found = find(own, lambda schema: len(schema) == 2, settings=SEARCH)
    assert found.field("age").type == pa.int8()


@SOME
@given(values(pa.decimal128(38, 38), nullable=False), values(pa.decimal128(38, 0), nullable=False))
def test_decimals_are_exact(small: Any, great: Any) -> None:
    """38 digits survive on either side of the point."""
    for value, type_ in ((small, pa.decimal128(38, 38)), (great, pa.decimal128(38, 0))):
        assert pa.array([value], type_)[0].as_py() == value


def test_a_type_that_is_not_known_is_refused() -> None:
    """A type that the strategies do not know is named in a typed error."""
    with pytest.raises(InvalidOption, match="large_string"):
        values(pa.large_string())
    with pytest.raises(InvalidOption, match="kind"):
        find(schemas("tree"), bool, settings=SEARCH)  # type: ignore[arg-type]
