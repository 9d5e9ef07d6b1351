"""The compare-and-swap on an annotated key: what it does, and what switches it off silently."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset

from ._support import (
    KEYED,
    PRIMARY_KEY,
    TOO_MANY_WRITERS,
    again,
    create,
    failure,
    head,
    people,
    upsert,
)

RESERVED = (
    "Invalid user input: the unenforced primary key is a reserved key and cannot be changed "
    "once set"
)


def test_two_inserts_of_one_key_collide(keyed: LanceDataset) -> None:
    """Merge-insert with the primary-key annotation and conflict_retries(0): two writers from one
    version that insert the same key: the second raises OSError "Too many concurrent writers…".
    """
    old = again(keyed)
    upsert(keyed, "k")
    failure(lambda: upsert(old, "k")).require("OSError", TOO_MANY_WRITERS)
    assert head(keyed) == (2, "a b k")


def test_without_the_annotation_both_land(table: LanceDataset) -> None:
    """Without the annotation both land, and the key is there twice."""
    old = again(table)
    upsert(table, "k")
    upsert(old, "k")
    assert head(table) == (3, "a b k k")


@pytest.mark.parametrize("schema", ["table", "keyed"])
def test_two_updates_of_one_row_collide(schema: str, request: pytest.FixtureRequest) -> None:
    """Updating one row that is there collides with or without the annotation."""
    dataset: LanceDataset = request.getfixturevalue(schema)
    old = again(dataset)
    upsert(dataset, "a", x=5)
    failure(lambda: upsert(old, "a", x=6)).require("OSError", TOO_MANY_WRITERS)


def test_an_index_on_the_key_switches_it_off(keyed: LanceDataset) -> None:
    """With a BTREE on the key and use_index(True) the compare-and-swap is silently off: two
    writers with one key both land.
    """
    keyed.create_scalar_index("id", "BTREE")
    one, other = again(keyed), again(keyed)
    upsert(one, "k", use_index=True)
    upsert(other, "k", use_index=True)
    assert head(keyed) == (4, "a b k k")


def test_not_using_the_index_keeps_it_on(keyed: LanceDataset) -> None:
    """use_index(False) always, on the manifest: then the index does no harm."""
    keyed.create_scalar_index("id", "BTREE")
    one, other = again(keyed), again(keyed)
    upsert(one, "k")
    failure(lambda: upsert(other, "k")).require("OSError", TOO_MANY_WRITERS)
    assert head(keyed) == (3, "a b k")


def test_an_annotated_column_must_not_be_nullable(tmp_path: Path) -> None:
    """An annotated key column must be non-nullable, at creation and when it is annotated later."""
    start = "LanceError(Schema): Primary key column and all its ancestors must not be nullable"
    field = pa.field("id", pa.string(), metadata={PRIMARY_KEY: "true"})
    data = pa.table({"id": ["a"]}, schema=pa.schema([field]))
    failure(lambda: lance.write_dataset(data, str(tmp_path / "n"))).require("OSError", start)
    plain = lance.write_dataset(pa.table({"id": ["a"]}), str(tmp_path / "p"))
    later = failure(lambda: plain.update_field_metadata({"id": {PRIMARY_KEY: "true"}}))
    later.require("OSError", start)


def test_the_annotation_can_be_set_once(table: LanceDataset) -> None:
    """… and the annotation can be set once: a second time Lance says "cannot be changed once
    set"; nor can it be dropped, or another column annotated.
    """
    table.update_field_metadata({"id": {PRIMARY_KEY: "true"}})
    assert again(table).schema.field("id").metadata == {PRIMARY_KEY.encode(): b"true"}
    for change in (
        {"id": {PRIMARY_KEY: "true"}},
        {"id": {PRIMARY_KEY: None}},
        {"x": {PRIMARY_KEY: "true"}},
    ):
        failure(lambda: again(table).update_field_metadata(change)).require("OSError", RESERVED)  # noqa: B023
    assert head(table)[0] == 2


def test_a_merge_over_two_rows_of_one_key_leaves_two(tmp_path: Path) -> None:
    """Merge-insert over two rows of one key succeeds and leaves two."""
    dataset = create(tmp_path / "t", "a", "a")
    done = upsert(dataset, "a", x=5)
    assert done["num_updated_rows"] == 2
    assert again(dataset).to_table().to_pylist() == [{"id": "a", "x": 5}] * 2


def test_a_new_key_twice_in_the_source_lands_twice(keyed: LanceDataset) -> None:
    """One merge-insert whose source has a new key twice inserts both; an existing key twice is
    refused: "Ambiguous merge inserts are prohibited".
    """
    upsert(keyed, "k", "k")
    assert head(keyed) == (2, "a b k k")
    failure(lambda: upsert(keyed, "a", "a")).require(
        "OSError",
        "Invalid user input: Ambiguous merge inserts are prohibited: multiple source rows match "
        "the same target row",
    )


def test_overwrite_drops_annotations_and_schema_metadata(keyed: LanceDataset) -> None:
    """write_dataset(mode="overwrite") drops field annotations and schema metadata, unless the
    new schema brings them; the config stays.
    """
    keyed.update_schema_metadata({"stamp": "2"})
    keyed.update_config({"c": "1"})
    plain = lance.write_dataset(people("o"), keyed.uri, mode="overwrite")
    assert (plain.schema.field("id").metadata, plain.schema.metadata) == (None, None)
    assert plain.config() == {"c": "1"}
    schema = KEYED.with_metadata({"stamp": "3"})
    brought = lance.write_dataset(people("o", schema=schema), keyed.uri, mode="overwrite")
    assert brought.schema.field("id").metadata == {PRIMARY_KEY.encode(): b"true"}
    assert brought.schema.metadata == {b"stamp": b"3"}
