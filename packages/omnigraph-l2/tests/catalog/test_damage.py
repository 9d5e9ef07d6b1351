"""Rows that break the format: each is told by name, and nothing else comes out.

Rows are folded in memory. How a damaged repository is reported is tested in ``tests/verifying``.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import attrs
import pytest
from catalog_histories import LOCATION
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_l1 import table_path
from omnigraph_l2._catalog.catalog_state import as_of, empty_state, fold
from omnigraph_l2._catalog.manifest_rows import (
    ManifestRow,
    from_micros,
    operation_key,
    publish_key,
    version_key,
)
from omnigraph_l2.errors import CorruptRepository

PATH = table_path("node:A")
TABLE = ManifestRow(object_id="node:A", object_type="table", table_key="node:A", location=PATH)
VERSION = ManifestRow(
    object_id=version_key("node:A", 3),
    object_type="table_version",
    table_key="node:A",
    table_version=3,
    row_count=0,
    metadata='{"publish": 1}',
)
TOMBSTONE = ManifestRow(
    object_id="node:A$tombstone$00000000000000000003",
    object_type="table_tombstone",
    table_key="node:A",
    table_version=3,
)
PUBLISH = ManifestRow(
    object_id=publish_key(1),
    object_type="publish",
    table_version=1,
    metadata='{"graph_commit_id": "c", "created_at": 1}',
)
OPERATION = ManifestRow(
    object_id=operation_key("00"), object_type="operation", metadata='{"graph_commit_id": "c"}'
)
ALL = (TABLE, VERSION, TOMBSTONE, PUBLISH, OPERATION)

NO_JSON = (
    "",
    "{",
    "nonsense",
    "[1]",
    "5",
    "null",
    '"text"',
    "[" * 100_000,
    '{"a": ' * 50_000,
    "1" * 5_000,
    '{"a": "\\ud800"}',
)
COMMIT_FIELDS = (
    "parent_commit_id",
    "merged_parent_commit_id",
    "manifest_branch",
    "actor_id",
    "message",
    "run_id",
    "operation_hash",
)


def read(*rows: ManifestRow) -> None:
    """Fold rows, and reduce them to a commit too."""
    fold(empty_state(LOCATION, None), rows, 1)
    as_of(empty_state(LOCATION, None), rows, 1)


def assert_told(damaged: ManifestRow) -> CorruptRepository:
    """A damaged row among whole ones is an error that names it."""
    whole = [row for row in ALL if row.object_type != damaged.object_type]
    with pytest.raises(CorruptRepository) as raised:
        read(*whole, damaged)
    assert raised.value.item == damaged.object_id
    assert raised.value.location == LOCATION
    assert damaged.object_id in str(raised.value)
    return raised.value


def test_whole_rows_are_read() -> None:
    """What the others are damaged from is whole."""
    read(*ALL)


@pytest.mark.parametrize("text", NO_JSON, ids=lambda text: text[:20] or "empty")
@pytest.mark.parametrize("row", [VERSION, TABLE, TOMBSTONE, PUBLISH, OPERATION])
def test_metadata_that_is_no_json_object(row: ManifestRow, text: str) -> None:
    """No error of the JSON parser comes out, however deep or long the text is."""
    assert_told(attrs.evolve(row, metadata=text))


@pytest.mark.parametrize("row", [VERSION, PUBLISH, OPERATION])
def test_metadata_that_is_missing(row: ManifestRow) -> None:
    """Where the format demands metadata, none is damage."""
    assert_told(attrs.evolve(row, metadata=None))


@pytest.mark.parametrize(
    "row",
    [
        attrs.evolve(TABLE, location=None),
        attrs.evolve(TABLE, location=""),
        attrs.evolve(TABLE, location=f"/{PATH}"),
        attrs.evolve(TABLE, location=f"../{PATH}"),
        attrs.evolve(TABLE, location=f"{PATH}/"),
        attrs.evolve(TABLE, location="__manifest"),
        attrs.evolve(TABLE, location="_graph_commits.lance"),
        attrs.evolve(TABLE, location="_refs/branches"),
        attrs.evolve(TABLE, location=table_path("node:B")),
        attrs.evolve(TABLE, object_id="node", table_key="node"),
        attrs.evolve(TABLE, object_id="node:B"),
        attrs.evolve(TABLE, object_id="", table_key=""),
        attrs.evolve(VERSION, row_count=None),
        attrs.evolve(VERSION, table_version=None),
        attrs.evolve(VERSION, table_version=4),
        attrs.evolve(VERSION, object_id="node:A$3"),
        attrs.evolve(VERSION, metadata='{"publish": "1"}'),
        attrs.evolve(VERSION, metadata='{"publish": -1}'),
        attrs.evolve(VERSION, metadata='{"publish": true}'),
        attrs.evolve(VERSION, metadata='{"publish": 1.5}'),
        attrs.evolve(TOMBSTONE, table_version=None),
        attrs.evolve(TOMBSTONE, table_version=4),
        attrs.evolve(TOMBSTONE, metadata='{"publish": []}'),
        attrs.evolve(PUBLISH, table_version=None),
        attrs.evolve(PUBLISH, table_version=2),
        attrs.evolve(OPERATION, metadata="{}"),
        attrs.evolve(OPERATION, metadata='{"graph_commit_id": null}'),
        attrs.evolve(OPERATION, metadata='{"graph_commit_id": ""}'),
    ],
    ids=str,
)
def test_rows_that_do_not_fit_themselves(row: ManifestRow) -> None:
    """What must be there is, and the key of a row says what its columns say."""
    assert_told(row)


@pytest.mark.parametrize("value", ["5", "1.5", "true", "[]", '{"a": 1}'])
@pytest.mark.parametrize("field", ["graph_commit_id", *COMMIT_FIELDS])
def test_fields_of_a_commit(field: str, value: str) -> None:
    """Each field of a commit is text or null."""
    fields = {"graph_commit_id": '"c"', "created_at": "1", field: value}
    text = ", ".join(f'"{name}": {given}' for name, given in fields.items())
    assert "it is no commit" in assert_told(attrs.evolve(PUBLISH, metadata=f"{{{text}}}")).detail


@pytest.mark.parametrize("moment", ["null", '"1"', "1.5", "true", "1" + "0" * 30, "-1" + "0" * 30])
def test_moments_of_a_commit(moment: str) -> None:
    """A moment is a number of microseconds that a calendar has."""
    text = f'{{"graph_commit_id": "c", "created_at": {moment}}}'
    assert "created_at" in assert_told(attrs.evolve(PUBLISH, metadata=text)).detail


@pytest.mark.parametrize("commit_id", ["null", '""', "5"])
def test_a_commit_without_a_name(commit_id: str) -> None:
    """A commit names itself."""
    text = f'{{"graph_commit_id": {commit_id}, "created_at": 1}}'
    assert_told(attrs.evolve(PUBLISH, metadata=text))


def test_two_commits_at_one_place() -> None:
    """Two that publish the same sequence are damage, read at once or one after the other."""
    other = attrs.evolve(PUBLISH, metadata='{"graph_commit_id": "d", "created_at": 1}')
    with pytest.raises(CorruptRepository, match="c before"):
        read(PUBLISH, other)
    state = fold(empty_state(LOCATION, None), [PUBLISH], 1)
    with pytest.raises(CorruptRepository) as raised:
        fold(state, [other], 2)
    assert raised.value.item == PUBLISH.object_id
    assert fold(state, [PUBLISH], 2).publishes == state.publishes


def test_two_places_of_one_table() -> None:
    """A table that is registered at a second path is damage, read at once or one by one."""
    other = attrs.evolve(TABLE, location="nodes/b")
    with pytest.raises(CorruptRepository, match="nodes/b"):
        read(TABLE, other)
    with pytest.raises(CorruptRepository, match="nodes/b"):
        fold(fold(empty_state(LOCATION, None), [TABLE], 1), [other], 2)


_TEXTS = st.one_of(
    st.none(),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=12),
    st.sampled_from(["node:A", PATH, "{}", "[]", '{"publish": 1}', publish_key(1), "x$1"]),
    st.sampled_from([row.metadata for row in ALL]),
)
_NUMBERS = st.one_of(st.none(), st.integers(0, 5), st.just(2**64 - 1))


@given(
    st.lists(
        st.builds(
            ManifestRow,
            object_id=_TEXTS.map(lambda text: text or ""),
            object_type=st.sampled_from([row.object_type for row in ALL] + ["else", ""]),
            location=_TEXTS,
            metadata=_TEXTS,
            table_key=_TEXTS.map(lambda text: text or ""),
            table_version=_NUMBERS,
            table_branch=_TEXTS,
            row_count=_NUMBERS,
            created_at_version=st.integers(1, 3),
            updated_at_version=st.integers(1, 3),
        )
        | st.sampled_from(ALL),
        max_size=6,
    )
)
def test_whatever_stands_there(rows: list[Any]) -> None:
    """Any rows at all are read, or told as damage; no other error comes out."""
    with suppress(CorruptRepository):
        read(*rows)


def test_moments_go_there_and_back() -> None:
    """The first and the last moment of the calendar can be written."""
    for micros in (0, -1, 253402300799999999):
        read(attrs.evolve(PUBLISH, metadata=f'{{"graph_commit_id": "c", "created_at": {micros}}}'))
        assert from_micros(micros).tzinfo is not None
