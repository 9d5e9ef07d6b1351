"""Filters and projections that cannot be evaluated."""

from __future__ import annotations

import pytest
from lance import LanceDataset

from ._support import failure, head

PARSING = {
    "nocolumn = 1": "Invalid user input: Schema error: No field named nocolumn.",
    "id =": "Invalid user input: Error parsing statement: ",
    "": "Invalid user input: Error parsing statement: ",
    "id = 3": "Invalid user input: Error resolving filter expression id = 3: ",
    "x > 'abc'": "Invalid user input: Error resolving filter expression x > 'abc': ",
    "x": "Invalid user input: The filter x does not return a boolean",
    "1": "Invalid user input: The filter Int64(1) does not return a boolean",
    "nofunction(x) = 1": "Invalid user input: Error parsing function: ",
    "id IN (select 1)": "Invalid user input: Expression 'id IN (SELECT 1)' is not supported SQL",
}
EVALUATING = {
    "x / 0 > 1": "Query Execution error: Error applying filter expression to batch: ",
    "cast(id as int) > 1": "Query Execution error: Error applying filter expression to batch: ",
}


@pytest.mark.parametrize("text", PARSING)
def test_a_filter_that_cannot_be_understood(text: str, table: LanceDataset) -> None:
    """An invalid filter: "Invalid user input: …", a ValueError from scans, an OSError from
    count_rows and delete, and nothing is deleted.
    """
    start = PARSING[text]
    failure(lambda: table.to_table(filter=text)).require("ValueError", start)
    failure(lambda: table.count_rows(filter=text)).require("OSError", start)
    failure(lambda: table.delete(text, conflict_retries=0)).require("OSError", start)
    assert head(table) == (1, "a b")


@pytest.mark.parametrize("text", EVALUATING)
def test_a_filter_that_fails_on_values(text: str, table: LanceDataset) -> None:
    """A filter that fails on values: ArrowInvalid "External error: Query Execution error: …" from
    scans, OSError "Query Execution error: …" from delete.
    """
    start = EVALUATING[text]
    failure(lambda: table.to_table(filter=text)).require("ArrowInvalid", f"External error: {start}")
    failure(lambda: table.delete(text, conflict_retries=0)).require("OSError", start)
    assert head(table) == (1, "a b")


def test_an_unknown_column_fails_when_the_scan_runs(table: LanceDataset) -> None:
    """An unknown column in a projection: ValueError "Invalid user input: Schema error: No field
    named y.", not from scanner() but when it runs.
    """
    scanner = table.scanner(columns=["y"])
    start = "Invalid user input: Schema error: No field named y."
    failure(scanner.to_table).require("ValueError", start)
    failure(lambda: table.to_table(columns=["y"])).require("ValueError", start)


def test_a_column_twice_is_refused(table: LanceDataset) -> None:
    """A column twice in a projection: "Invalid user input: Duplicate column name: id"."""
    failure(lambda: table.to_table(columns=["id", "id"])).require(
        "ValueError", "Invalid user input: Duplicate column name: id"
    )


def test_taking_beyond_the_end(table: LanceDataset) -> None:
    """Take beyond the end: OSError "Invalid user input: rowaddr start: …"; an unknown row id
    gives no row.
    """
    failure(lambda: table.take([1000])).require("OSError", "Invalid user input: rowaddr start: ")
    assert table._take_rows([1000]).num_rows == 0
