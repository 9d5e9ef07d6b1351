"""The reducer against a second one that was written from the words of the format alone.

``fold`` is pure, and is given some hundred drawn histories, which would take minutes to publish.
"""

from __future__ import annotations

import random

import attrs
import pytest
from catalog_histories import KEYS, LOCATION, OWNERS, History, foreign_rows, histories
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_catalog import commits, floor, latest, operations, shown, until

from omnigraph_l1 import table_path
from omnigraph_l2._catalog.catalog_state import CatalogState, as_of, empty_state, fold
from omnigraph_l2._catalog.manifest_pruning import find_superseded
from omnigraph_l2._catalog.manifest_rows import (
    ManifestRow,
    rows_from_arrow,
    rows_to_arrow,
    version_key,
)
from omnigraph_l2._catalog.publish_plan import RegisterTable, TableTombstone, TableUpdate
from omnigraph_l2.errors import CorruptRepository

SEEDS = st.integers(0, 2**32)


def tables_of(state: CatalogState) -> dict[str, tuple[str, int, str | None, int]]:
    """Give what a state shows, as the naive implementation gives it."""
    return {
        key: (entry.table_path, entry.table_version, entry.table_branch, entry.row_count)
        for key, entry in state.tables.items()
    }


def assert_same(state: CatalogState, rows: list[ManifestRow]) -> None:
    """Compare with the naive implementation."""
    assert tables_of(state) == shown(rows, state.branch)
    for key in KEYS:
        assert state.latest(key) == latest(rows, state.branch, key), key
        assert state.floor(key) == floor(rows, state.branch, key), key
    assert [(made.sequence, made.commit_id) for made in state.publishes] == commits(rows)
    assert dict(state.operations) == operations(rows)


@given(histories(), SEEDS)
def test_at_once_in_any_order(history: History, seed: int) -> None:
    """The state is that of the rule, whatever order the rows come in."""
    for number, rows in enumerate(history.versions, 1):
        mixed = list(rows)
        random.Random(seed).shuffle(mixed)
        assert_same(fold(empty_state(LOCATION, history.branch), mixed, number), rows)


@given(histories())
def test_row_by_row_as_they_arrive(history: History) -> None:
    """Following the catalog write by write gives the state of each version."""
    state = empty_state(LOCATION, history.branch)
    for number, (written, rows) in enumerate(zip(history.writes, history.versions, strict=True), 1):
        state = fold(state, written, number)
        assert_same(state, rows)
        assert state.version == number
        whole = fold(empty_state(LOCATION, history.branch), rows, number)
        assert state.is_foreign == whole.is_foreign
        assert {k: r.metadata for k, r in state.registrations.items()} == {
            k: r.metadata for k, r in whole.registrations.items()
        }


@given(histories(), st.integers(0, 3), SEEDS)
def test_without_what_is_superseded(history: History, keep: int, seed: int) -> None:
    """Rows that are dropped change nothing that is shown, now or after what comes later."""
    at = random.Random(seed).randrange(len(history.versions) + 1)
    rows = history.versions[at - 1] if at else []
    before = fold(empty_state(LOCATION, history.branch), rows, at)
    logged = {made.commit_id for made in before.publishes[: random.Random(seed).randrange(4)]}
    gone = set(find_superseded(rows, before, logged=logged, keep_publishes=keep))
    kept = [row for row in rows if row.object_id not in gone]
    state = fold(empty_state(LOCATION, history.branch), kept, at)
    assert tables_of(state) == tables_of(before)
    assert state.last_sequence == before.last_sequence or not keep
    assert {made.commit_id for made in before.publishes} - {
        made.commit_id for made in state.publishes
    } <= logged
    for number in range(at, len(history.versions)):
        state = fold(state, history.writes[number], number + 1)
        assert tables_of(state) == shown(history.versions[number], history.branch)
        for key in KEYS:
            assert state.latest(key) == latest(history.versions[number], history.branch, key)
            assert state.floor(key) == floor(history.versions[number], history.branch, key)


@given(histories())
def test_as_of_a_commit(history: History) -> None:
    """Of several commits in one write, each shows what it and those before it made."""
    for number, rows in enumerate(history.versions, 1):
        for sequence, _ in commits(history.writes[number - 1]):
            start = attrs.evolve(empty_state(LOCATION, history.branch), version=number)
            early = until(rows, sequence)
            assert_same(as_of(start, rows, sequence), early)


@given(histories())
def test_rows_survive_arrow(history: History) -> None:
    """What is read is what was written."""
    read = rows_from_arrow(rows_to_arrow(history.rows))
    assert read == [
        attrs.evolve(row, created_at_version=0, updated_at_version=0) for row in history.rows
    ]


def registered(key: str = "node:A") -> ManifestRow:
    """Make the row that registers a table."""
    return foreign_rows(RegisterTable(table_key=key, table_path=table_path(key)))


def version(number: int, owner: str | None = None, *, at: int = 1, rows: int = 0) -> ManifestRow:
    """Make a version row of another publisher, which came at a version of the catalog."""
    update = TableUpdate(
        table_key="node:A", table_version=number, row_count=rows, table_branch=owner
    )
    row = foreign_rows(update)
    return attrs.evolve(row, created_at_version=at, updated_at_version=at)


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.sampled_from(OWNERS), st.integers(1, 4)),
        max_size=8,
        unique_by=lambda each: each[:2],
    ),
    st.sampled_from(OWNERS),
    SEEDS,
)
def test_rows_that_share_a_key(
    drawn: list[tuple[int, str | None, int]], branch: str | None, seed: int
) -> None:
    """Version 1 let one key stand several times: of a tie, the branch's own row counts."""
    rows = [
        registered(),
        *(version(number, owner, at=at, rows=at) for number, owner, at in drawn),
    ]
    random.Random(seed).shuffle(rows)
    visible = shown(rows, branch)
    tied = [row for row in rows if row.table_version == visible.get("node:A", (0, 0))[1]]
    state = fold(empty_state(LOCATION, branch), rows, 9)
    if len(tied) < 2 or any(row.table_branch == branch for row in tied):
        assert tables_of(state) == visible
    else:
        assert state.latest("node:A") == visible["node:A"][1]


def test_equal_rows_that_stand_twice() -> None:
    """Two equal rows are one."""
    rows = [registered(), registered(), version(1), version(1, at=2)]
    assert tables_of(fold(empty_state(LOCATION, None), rows, 2)) == {
        "node:A": (table_path("node:A"), 1, None, 0)
    }


def test_a_hand_over_replaces_the_row() -> None:
    """A row that changed its owner is no tie with what it was, in whatever order both are read."""
    before, after = version(5, "x.01"), attrs.evolve(version(5, "y.02"), updated_at_version=3)
    for branch in OWNERS:
        for rows in ([before, after], [after, before]):
            state = fold(empty_state(LOCATION, branch), [registered(), *rows], 3)
            assert state.tables["node:A"].table_branch == "y.02", branch


def test_another_publisher_drops_last() -> None:
    """A tombstone that no commit of ours made is another publisher's, and so is the head."""
    state = fold(empty_state(LOCATION, None), [registered(), version(1)], 1)
    assert state.is_foreign
    tombstone = foreign_rows(TableTombstone(table_key="node:A", table_version=1))
    dropped = attrs.evolve(tombstone, updated_at_version=7)
    assert fold(state, [dropped], 7).foreign_version == 7


def test_a_version_without_its_table_is_damage() -> None:
    """It is never passed over, dropped or not; the row is named."""
    tombstone = foreign_rows(TableTombstone(table_key="node:A", table_version=9))
    for rows in ([version(3)], [version(3), tombstone]):
        with pytest.raises(CorruptRepository) as raised:
            fold(empty_state(LOCATION, None), rows, 1)
        assert raised.value.item == version_key("node:A", 3)
        assert raised.value.location == LOCATION
