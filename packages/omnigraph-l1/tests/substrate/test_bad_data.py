"""Data that does not fit: what Lance says, and what it takes although one would not expect it."""

from __future__ import annotations

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset
from lance.fragment import write_fragments

from ._support import PLAIN, failure, head, merge

DIFFERENT = "Append with different schema: "

REFUSED = {
    "extra column": (
        pa.table({"id": ["q"], "x": [1], "y": [1]}),
        DIFFERENT + "fields did not match, missing=[], unexpected=[y]",
    ),
    "missing not-null column": (
        pa.table({"x": [1]}),
        DIFFERENT + "fields did not match, missing=[id], unexpected=[]",
    ),
    "other case": (
        pa.table({"ID": ["q"], "x": [1]}),
        DIFFERENT + "fields did not match, missing=[id], unexpected=[ID]",
    ),
    "other type": (
        pa.table({"id": ["q"], "x": ["1"]}),
        DIFFERENT + "`x` should have type int64 but type was string",
    ),
    "narrower type": (
        pa.table({"id": ["q"], "x": pa.array([1], pa.int32())}),
        DIFFERENT + "`x` should have type int64 but type was int32",
    ),
    "large string": (
        pa.table({"id": pa.array(["q"], pa.large_string()), "x": [1]}),
        DIFFERENT + "`id` should have type string but type was large_string",
    ),
    "dictionary": (
        pa.table({"id": pa.array(["q"]).dictionary_encode(), "x": [1]}),
        DIFFERENT + "`id` should have type string but type was dict:string:int32:false",
    ),
    "both kinds at once": (
        pa.table({"ID": ["q"], "x": ["1"]}),
        DIFFERENT + "fields did not match, missing=[id], unexpected=[ID], `x` should have type "
        "int64 but type was string",
    ),
    "no columns": (
        pa.table({}),
        DIFFERENT + "fields did not match, missing=[id], unexpected=[]",
    ),
    "a column twice": (
        pa.Table.from_arrays([pa.array(["q"]), pa.array([1]), pa.array([2])], ["id", "x", "x"]),
        'LanceError(Schema): Duplicate field name "x" in schema:',
    ),
    "nulls where declared nullable": (
        pa.table({"id": ["q", None], "x": [1, 1]}),
        "Invalid user input: The field `id` contained null values even though the field is marked",
    ),
    "nulls where declared not null": (
        pa.Table.from_arrays([pa.array(["q", None]), pa.array([1, 1])], schema=PLAIN),
        "LanceError(Arrow): Invalid argument error: Column 'id' is declared as non-nullable but",
    ),
}

TAKEN = {
    "missing nullable column": pa.table({"id": ["q"]}),
    "other order": pa.table({"x": [1], "id": ["q"]}),
    "declared nullable, no nulls": pa.table({"id": ["q"], "x": [1]}),
    "string view": pa.table({"id": pa.array(["q"], pa.string_view()), "x": [1]}),
    "in two chunks": pa.table({"id": pa.chunked_array([["q"], []], pa.string()), "x": [1]}),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_append_that_does_not_fit_is_refused(what: str, table: LanceDataset) -> None:
    """Schema mismatch on append is an OSError "Append with different schema: …" that names what
    is missing, unexpected and of another type at once; nulls have two texts of their own.
    """
    data, start = REFUSED[what]
    failure(lambda: lance.write_dataset(data, table, mode="append")).require("OSError", start)
    failure(lambda: write_fragments(data, table)).require("OSError", start)
    assert head(table) == (1, "a b")


@pytest.mark.parametrize("what", TAKEN)
def test_an_append_that_nearly_fits_is_taken(what: str, table: LanceDataset) -> None:
    """A missing nullable column, another order, a nullable declaration and string_view are taken;
    the table's schema stays.
    """
    lance.write_dataset(TAKEN[what], table, mode="append")
    assert head(table) == (2, "a b q")
    assert lance.dataset(table.uri).schema == PLAIN


def test_a_merge_by_a_column_that_is_not_there_is_refused(table: LanceDataset) -> None:
    """A wrong key column: ValueError "Invalid user input: Merge insert key column 'k' does not
    exist in schema", before any data is looked at.
    """
    failure(lambda: table.merge_insert("k")).require(
        "ValueError", "Invalid user input: Merge insert key column 'k' does not exist in schema"
    )


def test_a_merge_without_the_key_in_its_data_is_refused(table: LanceDataset) -> None:
    """Data without the key column: OSError "Invalid user input: Cannot insert rows with a
    partial-schema source".
    """
    failure(lambda: merge(table).execute(pa.table({"x": [1]}))).require(
        "OSError", "Invalid user input: Cannot insert rows with a partial-schema source"
    )


@pytest.mark.parametrize("what", ["extra column", "other type", "narrower type", "large string"])
def test_a_merge_that_does_not_fit_is_refused(what: str, table: LanceDataset) -> None:
    """A merge-insert whose data does not fit says the same as an append."""
    data, start = REFUSED[what]
    failure(lambda: merge(table).execute(data)).require("OSError", start)
    assert head(table) == (1, "a b")


def test_a_merge_with_a_null_key_is_refused(table: LanceDataset) -> None:
    """A null key in a not-null column is refused by merge-insert."""
    data = pa.table({"id": pa.array(["q", None], pa.string()), "x": [1, 1]})
    failure(lambda: merge(table).execute(data)).require(
        "OSError", "Invalid user input: The field `id` contained null values"
    )
    assert head(table) == (1, "a b")


def test_a_merge_without_a_nullable_column_keeps_its_values(table: LanceDataset) -> None:
    """An upsert that lacks a nullable column keeps the values of rows that are there."""
    merge(table).execute(pa.table({"id": ["a", "n"]}))
    found = lance.dataset(table.uri).to_table()
    assert dict(zip(found["id"].to_pylist(), found["x"].to_pylist(), strict=True)) == {
        "a": 1,
        "b": 1,
        "n": None,
    }
