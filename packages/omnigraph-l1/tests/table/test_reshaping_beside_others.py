"""A changed shape, and what others staged, wrote or committed beside it."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from people import SCHEMA, ids, rows
from reshapes import NICK, OPERATIONS, PLAIN

from omnigraph_l1 import Resolution, Table
from omnigraph_l1.errors import CommitConflict, InvalidData, InvalidRequest, StaleBranch


@pytest.mark.parametrize("name", OPERATIONS)
def test_none_of_them_acts_on_a_branch_that_was_deleted(base: Table, name: str) -> None:
    """They refuse a stale handle like every other write."""
    branch = base.fork("side.1")
    base.delete_branch("side.1")
    with pytest.raises(StaleBranch):
        OPERATIONS[name](branch)


def test_two_annotations_at_once_are_one(base: Table) -> None:
    """Lance refuses the second, even of another name: look again, then annotate."""
    base.annotate(schema_metadata={"a": "1"})
    with pytest.raises(CommitConflict) as caught:
        base.annotate(schema_metadata={"b": "1"})
    assert caught.value.resolution is Resolution.INCOMPATIBLE


def test_what_was_staged_for_other_columns_is_refused(base: Table) -> None:
    """Lance would take it, and read each of its columns as the one that bears its number now."""
    staged = base.stage_append(rows("stale", age=77))
    part = base.write_target.write(rows("stale", age=77))
    other = pa.schema([SCHEMA.field("id"), pa.field("height", pa.int32()), SCHEMA.field("city")])
    for changed in (
        base.replace_schema(other).table,
        base.restore(base.version).table.add_columns([NICK]).table,
        base.restore(base.version).table.drop_columns(["city"]).table,
    ):
        with pytest.raises(InvalidRequest, match="columns were changed"):
            changed.commit(staged)
        with pytest.raises(InvalidRequest, match="columns were changed"):
            changed.stage_written([part])
        with pytest.raises(InvalidRequest, match="columns were changed"):
            changed.stage_together([staged])
    back = base.restore(base.version).table
    assert ids(back.commit(staged).table.read()) == ["a", "b", "c", "stale"]


def test_an_annotation_does_not_spoil_what_is_staged(base: Table) -> None:
    """Files mean the same whatever is said of their columns."""
    staged = base.stage_append(rows("d"))
    annotated = base.annotate(schema_metadata={"a": "1"}, field_metadata={"age": {"doc": "x"}})
    assert annotated.table.commit(staged).follows_base


STRANGERS: dict[str, Callable[[Table], object]] = {
    "append": lambda t: t.append(rows("stranger")),
    "delete": lambda t: t.delete("id = 'a'"),
    "annotate": lambda t: t.annotate(schema_metadata={"theirs": "1"}),
    "drop": lambda t: t.drop_columns(["city"]),
    "add": lambda t: t.add_columns([pa.field("theirs", pa.int8())]),
    "replace": lambda t: t.replace_schema(PLAIN),
}


LANDS = {
    *((stranger, "annotate") for stranger in ("append", "delete", "drop")),
    *((stranger, "drop") for stranger in ("append", "delete", "annotate")),
}
"""Where Lance puts the second on top of the first; everywhere else it refuses."""


@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_over_a_stranger_it_is_refused_or_not_proven(base: Table, stranger: str, name: str) -> None:
    """Nobody takes the version of two for that of one."""
    STRANGERS[stranger](base)
    if (stranger, name) not in LANDS:
        with pytest.raises(CommitConflict):
            OPERATIONS[name](base)
        return
    commit = OPERATIONS[name](base)
    assert not commit.follows_base
    assert commit.version == base.version + 2


def test_a_drop_put_on_top_of_an_annotation_loses_it(base: Table) -> None:
    """Lance writes the older schema less the column: the commit is not proven, and says so."""
    base.annotate(schema_metadata={"theirs": "1"})
    commit = base.drop_columns(["city"])
    assert not commit.follows_base
    assert b"theirs" not in commit.table.schema.metadata


def test_a_replacement_is_not_written_into_the_past(base: Table) -> None:
    """Where the next version was cleaned away, Lance would take its number, and nobody see it."""
    head = base.append(rows("x")).table.append(rows("y")).table
    head.remove_versions([base.version + 1])
    with pytest.raises(CommitConflict):
        base.replace_schema(PLAIN)
    assert base.refresh().version == head.version


def test_data_for_the_old_columns_does_not_fit(base: Table) -> None:
    """Appending is held to the new columns at once."""
    dropped = base.drop_columns(["age"]).table
    with pytest.raises(InvalidData, match="age"):
        dropped.append(rows("d"))
