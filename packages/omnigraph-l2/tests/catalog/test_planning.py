"""Every refusal of a publish, and what a plan writes down.

``plan`` is pure: each case is a state in memory, which the public API would have to publish.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import attrs
import pytest

from omnigraph_l1 import table_path
from omnigraph_l2._catalog.catalog_state import CatalogState, empty_state
from omnigraph_l2._catalog.publish_plan import (
    Change,
    Intent,
    RegisterTable,
    TableTombstone,
    TableUpdate,
    operation_digest,
    plan,
)
from omnigraph_l2.errors import (
    ExpectedVersionMismatch,
    InvalidChange,
    InvalidRequest,
    InvalidSchema,
    OmniGraphError,
)

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
A, B = "node:A", "node:B"


def register(key: str = A, path: str | None = None, **metadata: Any) -> RegisterTable:
    """Register a table."""
    return RegisterTable(
        table_key=key, table_path=table_path(key) if path is None else path, metadata=metadata
    )


def update(version: Any, key: str = A, *, rows: Any = 0, branch: Any = None) -> TableUpdate:
    """Publish a version."""
    return TableUpdate(table_key=key, table_version=version, row_count=rows, table_branch=branch)


def drop(version: Any, key: str = A) -> TableTombstone:
    """Drop a table."""
    return TableTombstone(table_key=key, table_version=version)


def intent(*changes: Change, expected: Any = None, **fields: Any) -> Intent:
    """Make an intent."""
    return Intent(
        graph_commit_id=fields.pop("commit_id", "c"),
        changes=changes,
        expected={} if expected is None else expected,
        created_at=fields.pop("created_at", NOW),
        **fields,
    )


def after(*commits: tuple[Change, ...]) -> CatalogState:
    """Give the state after some commits."""
    state = empty_state("/p", None)
    for number, changes in enumerate(commits):
        planned = plan(state, intent(*changes, commit_id=f"c{number}"), state.head).after
        state = attrs.evolve(planned, version=number + 1)
    return state


EMPTY = after()
AT_5 = after((register(), update(5, rows=7)))
DROPPED = after((register(), update(5)), (drop(6),))


@pytest.mark.parametrize(
    ("state", "changes", "words"),
    [
        (EMPTY, (update(1),), "not registered"),
        (EMPTY, (drop(1),), "not registered"),
        (AT_5, (update(5, rows=7),), "in the catalog already"),
        (AT_5, (update(5, rows=8, branch="x"),), "in the catalog already"),
        (AT_5, (update(4),), "not above version 5, which is visible"),
        (AT_5, (update(4, branch="x"),), "not above version 5"),
        (AT_5, (update(6), update(6, rows=1)), "twice"),
        (AT_5, (drop(6), drop(6)), "twice"),
        (AT_5, (register(), register()), "twice"),
        (AT_5, (drop(4),), "visible version is 5; up to 4 hides nothing"),
        (DROPPED, (drop(6),), "dropped already, up to version 6"),
        (DROPPED, (drop(5),), "dropped already, up to version 6"),
        (DROPPED, (update(6),), "not above version 6, which is dropped"),
        (DROPPED, (update(5),), "not above version 6"),
        (AT_5, (register(path="nodes/elsewhere"),), "belongs at"),
        (EMPTY, (register(path="nodes/elsewhere"),), "belongs at"),
    ],
)
def test_refused_changes(state: CatalogState, changes: tuple[Change, ...], words: str) -> None:
    """Each refusal of the format names the table and the reason."""
    with pytest.raises(InvalidChange, match=words) as raised:
        plan(state, intent(*changes), state.head)
    assert raised.value.table_key == A


def test_names_that_differ_only_by_case() -> None:
    """A second table of nearly the same name is refused when it is declared."""
    with pytest.raises(InvalidSchema, match="only by case"):
        plan(AT_5, intent(register("node:a")), AT_5.head)


@pytest.mark.parametrize(
    ("state", "changes", "latest"),
    [
        (EMPTY, (register(),), 0),
        (EMPTY, (update(3), register()), 3),
        (EMPTY, (update(4), register(), update(3)), 4),
        (AT_5, (update(5, rows=7, branch="x"),), 5),
        (AT_5, (register(endpoints={}),), 5),
        (AT_5, (drop(6),), 0),
        (AT_5, (drop(9),), 0),
        (DROPPED, (update(7),), 7),
        (DROPPED, (drop(7),), 0),
        (AT_5, (update(7), drop(6)), 7),
    ],
)
def test_allowed_changes(state: CatalogState, changes: tuple[Change, ...], latest: int) -> None:
    """What the format does not refuse is planned, in whatever order it is listed."""
    assert plan(state, intent(*changes), state.head).after.latest(A) == latest


@pytest.mark.parametrize(
    ("state", "key", "actual"),
    [(EMPTY, A, 0), (AT_5, A, 5), (DROPPED, A, 0), (AT_5, B, 0), (after((register(),)), A, 0)],
)
def test_what_expectations_are_compared_with(state: CatalogState, key: str, actual: int) -> None:
    """The visible version; 0 for a table without one, whether it was dropped or never there."""
    change = register("node:Other")
    assert plan(state, intent(change, expected={key: actual}), state.head)
    with pytest.raises(ExpectedVersionMismatch) as raised:
        plan(state, intent(change, expected={key: actual + 1}), state.head)
    assert (raised.value.table_key, raised.value.actual) == (key, actual)
    assert raised.value.expected == actual + 1


@pytest.mark.parametrize("tombstone", [5, 6])
def test_a_dropped_table_is_at_no_version(tombstone: int) -> None:
    """Neither its last version nor the tombstone's is expected of it; a new one is above both."""
    dropped = plan(AT_5, intent(drop(tombstone)), AT_5.head).after
    change = register("node:Other")
    assert plan(dropped, intent(change, expected={A: 0}), dropped.head)
    for version in (5, 6):
        with pytest.raises(ExpectedVersionMismatch) as raised:
            plan(dropped, intent(change, expected={A: version}), dropped.head)
        assert raised.value.actual == 0
    with pytest.raises(InvalidChange, match="dropped"):
        plan(dropped, intent(update(tombstone), expected={A: 0}), dropped.head)
    assert plan(dropped, intent(update(tombstone + 1), expected={A: 0}), dropped.head)


def test_a_broken_expectation_comes_before_a_bad_change() -> None:
    """Who lost a race is told so, and not that the change makes no sense any more."""
    with pytest.raises(ExpectedVersionMismatch):
        plan(AT_5, intent(update(5), expected={A: 4}), AT_5.head)


@pytest.mark.parametrize("number", [-1, 2**63, 2**64, 1.0, "1", None, True])
@pytest.mark.parametrize("make", [update, drop, lambda n: update(1, rows=n)])
def test_numbers_that_are_none(make: Callable[[Any], Change], number: Any) -> None:
    """A number that no column could hold is told as the caller's mistake."""
    with pytest.raises(InvalidChange, match="whole number") as raised:
        plan(AT_5, intent(make(number)), AT_5.head)
    assert raised.value.table_key == A


@pytest.mark.parametrize(
    "made",
    [
        intent(update(6, branch=5)),
        intent(update(6, branch="")),
        intent(TableUpdate(table_key=A, table_version=6, row_count=1, metadata={"x": b"1"})),
        intent(
            TableUpdate(table_key=A, table_version=6, row_count=1, metadata={"x": float("nan")})
        ),
        intent(TableUpdate(table_key=A, table_version=6, row_count=1, metadata={"x": "\ud800"})),
        intent(TableUpdate(table_key=A, table_version=6, row_count=1, metadata={5: 1})),  # type: ignore[dict-item]
        intent(TableUpdate(table_key=A, table_version=6, row_count=1, metadata=None)),  # type: ignore[arg-type]
        intent(register(key=B, path="nodes/x", bad={1, 2})),
        intent(update(1, key="Person")),
        intent(update(1, key="node:")),
        intent(update(1, key="table:Person")),
        intent(update(1, key="node:\ud800")),
        intent(update(1, key="node:a$1")),
        intent(update(1, key=5)),  # type: ignore[arg-type]
        intent("update A"),  # type: ignore[arg-type]
        intent(expected={A: "5"}),
        intent(expected={A: None}),
        intent(expected={A: -1}),
        intent(expected={5: 5}),
        intent(expected=[A]),
        intent(register(B), message="\ud800"),
        intent(register(B), actor_id=b"ann"),
        intent(register(B), operation_hash=5),
    ],
)
def test_values_that_cannot_be_written(made: Intent) -> None:
    """Whatever is asked for wrongly is a typed error before anything is written."""
    with pytest.raises((InvalidChange, InvalidRequest, ExpectedVersionMismatch)) as raised:
        plan(AT_5, made, AT_5.head)
    assert isinstance(raised.value, OmniGraphError)
    assert not isinstance(raised.value, ExpectedVersionMismatch)


def test_what_a_commit_writes() -> None:
    """One row for each change, one for the commit, one for its operation; each names the commit."""
    made = plan(
        AT_5,
        intent(
            update(6, rows=9, branch="x.1"),
            register(B),
            drop(3, B),
            actor_id="ann",
            message="hello 人",
            run_id="r",
            operation_hash="h",
            merged_parent_commit_id="m",
            commit_id="new",
        ),
        AT_5.head,
    )
    rows = {row.object_id: row for row in made.rows}
    operation = f"operation${operation_digest('h')}"
    assert sorted(rows) == sorted(
        [
            "node:A$00000000000000000006",
            "node:B",
            "node:B$tombstone$00000000000000000003",
            operation,
            "publish$00000000000000000002",
        ]
    )
    version = rows["node:A$00000000000000000006"]
    assert (version.table_version, version.table_branch, version.row_count) == (6, "x.1", 9)
    assert json.loads(version.metadata or "")["publish"] == 2
    assert json.loads(rows["node:B$tombstone$00000000000000000003"].metadata or "") == {
        "publish": 2
    }
    assert json.loads(rows[operation].metadata or "")["graph_commit_id"] == "new"
    publish = rows["publish$00000000000000000002"]
    assert (publish.table_key, publish.table_version, publish.location) == ("", 2, None)
    written = json.loads(publish.metadata or "")
    assert written["parent_commit_id"] == "c0"
    assert written["merged_parent_commit_id"] == "m"
    assert (written["actor_id"], written["message"]) == ("ann", "hello 人")
    assert (written["run_id"], written["operation_hash"]) == ("r", "h")
    assert made.after.version == AT_5.version


def test_time_rises_along_a_branch() -> None:
    """A writer whose clock is behind makes no commit that is older than its parent."""
    first = plan(EMPTY, intent(register()), None)
    behind = plan(first.after, intent(update(1), created_at=NOW - timedelta(days=1)), first.made)
    assert behind.made.commit.created_at > first.made.commit.created_at
    ahead = plan(first.after, intent(update(1), created_at=NOW + timedelta(days=1)), first.made)
    assert ahead.made.commit.created_at == NOW + timedelta(days=1)


def test_handing_a_version_over_keeps_when_its_row_came() -> None:
    """The row is updated, so that the state that is planned is the one that will be read."""
    handed = plan(AT_5, intent(update(5, rows=7, branch="x")), AT_5.head)
    row = handed.rows[0]
    came = AT_5.versions(A)[0].made_at
    assert (row.created_at_version, row.updated_at_version) == (came, AT_5.version + 1)
    assert len(handed.after.versions(A)) == 1
    assert handed.after.tables[A].table_branch == "x"
