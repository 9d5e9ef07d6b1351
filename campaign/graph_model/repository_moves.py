"""What the state machine does with moments of the graph: merge, revert, tag, compare, follow, run.

Invariant: what a repository gives is compared with the plain model, conflicts and all; what is
refused has changed nothing.
"""

# ruff: noqa: PT017, S101 - a test, to be run by others

from __future__ import annotations

import copy
from typing import Any

import pytest

from campaign.graph_model.graph_states import content, differing, is_whole, touched
from campaign.graph_model.merge_model import Outcome, State
from campaign.graph_model.repository_world import (
    Change,
    Held,
    Underway,
    World,
    change_all,
    write_all,
)
from omnigraph_l2 import UNRESOLVED, ChangeSet
from omnigraph_l2.errors import (
    DuplicateValues,
    MergeConflict,
    MergeConflicts,
    RunConflict,
    SnapshotExpired,
    TagExists,
    UnknownBranch,
    UnknownReference,
)

__all__ = [
    "begin",
    "compare",
    "cross",
    "follow",
    "hold",
    "merge",
    "publish",
    "revert",
    "step",
    "tag",
]


def _asked(conflict: MergeConflict) -> Any:
    return _answered(conflict.kind.value, conflict.row_id, conflict.ours, conflict.theirs)


def _answered(kind: str, row_id: str | None, ours: Any, theirs: Any) -> Any:
    if kind == "orphan_edge" or row_id == "b":
        return None
    if row_id in {"c", "z"}:
        return UNRESOLVED
    return theirs if row_id in {"a", "x"} else ours


def _strategies(how: int) -> tuple[Any, Any]:
    """Give a strategy, and the same for the model."""
    chosen = ("error", "error", "ours", "theirs", _asked)[how % 5]
    return chosen, _answered if callable(chosen) else chosen


def merge(world: World, turn: int, source: str, into: str, how: int) -> None:
    """Merge a branch, a tag or a commit into a branch."""
    tagged = world.tags.get(source)
    theirs = world.lines[source].head if source in world.lines else tagged[0] if tagged else source
    mine = world.lines[into].head
    world.look_around()
    strategy, plain = _strategies(how)
    expected = world.model.merge(mine, theirs, plain)
    is_done = theirs in world.model.ancestors(mine)
    if is_done:
        expected = Outcome(world.head(into), set())
    repo = world.repo(turn)
    try:
        result = repo.branches.merge(source, into, strategy=strategy)
    except MergeConflicts as error:
        _compare_conflicts(error, expected)
    except DuplicateValues:
        assert not expected.conflicts
        assert not is_whole(expected.state)
    except SnapshotExpired as error:
        assert tagged is not None, error
        world.excuse(error, *world.model.bases([mine], [theirs]))
    else:
        assert not expected.conflicts
        assert is_whole(expected.state)
        if result.commit is None:
            assert not touched(world.model.commits[mine], expected.state)
        else:
            assert result.commit.parent_commit_id == mine
            assert result.commit.merged_parent_commit_id == theirs
            world.record(into, result.commit.graph_commit_id, expected.state, theirs)
        again = repo.branches.merge(source, into)
        assert again.kind.value == "already_up_to_date"
    world.check(into, turn + 1)


def cross(world: World, turn: int, one: str, other: str) -> None:
    """Let two branches merge what the other was before it merged; the first one wins in both."""
    mine, theirs = world.lines[one].head, world.lines[other].head
    merge(world, turn, mine, other, 3)
    merge(world, turn, theirs, one, 2)


def revert(world: World, turn: int, branch: str, which: int, how: int) -> None:
    """Take back a commit of a branch."""
    line = world.model.line(world.lines[branch].head)
    commit, parent = line[which % len(line)], [*line, ""][which % len(line) + 1]
    if not parent:
        return
    strategy, plain = _strategies(how)
    before = world.head(branch)
    expected = world.model.three_way([commit], line[0], parent, plain)
    try:
        made = world.repo(turn).revert(commit, branch, strategy=strategy)
    except MergeConflicts as error:
        _compare_conflicts(error, expected)
    except DuplicateValues:
        assert not is_whole(expected.state)
    except (SnapshotExpired, UnknownReference, UnknownBranch) as error:
        world.excuse(error, commit, parent)
    else:
        assert not expected.conflicts
        assert (made is None) == (not touched(before, expected.state))
        if made is not None:
            world.record(branch, made.graph_commit_id, expected.state)
    world.check(branch, turn + 1)


def _compare_conflicts(error: MergeConflicts, expected: Outcome) -> None:
    found = [(each.table_key, each.row_id, each.kind.value) for each in error.conflicts]
    assert len(found) == len(set(found))
    assert set(found) == expected.conflicts


def tag(world: World, turn: int, name: str, branch: str) -> None:
    """Tag the head of a branch; a tag that is there never moves, and is deleted then."""
    tags = world.repo(turn).tags
    if name in world.tags:
        with pytest.raises(TagExists):
            tags.create(name, branch)
        tags.delete(name)
        del world.tags[name]
        world.look_around()
        return
    line = world.lines[branch]
    assert tags.create(name, branch).graph_commit_id == line.head
    world.tags[name] = (line.head, line.number)


def hold(world: World, turn: int, branch: str) -> None:
    """Keep a snapshot open."""
    line = world.lines[branch]
    world.held.append(Held(world.repo(turn).snapshot(branch), line.head, line.number))


def compare(world: World, turn: int, one: int, other: int) -> None:
    """Look at what differs between two branches, tags or open snapshots."""
    moments: list[tuple[Any, str]] = [(name, each.head) for name, each in world.lines.items()]
    moments += [(name, commit) for name, (commit, _) in world.tags.items()]
    moments += [(each.snapshot, each.commit) for each in world.held]
    (left, before), (right, after) = (moments[each % len(moments)] for each in (one, other))
    diff = world.repo(turn).diff(left, right)
    expected = differing(world.model.commits[before], world.model.commits[after])
    assert diff.tables.keys() == expected.keys()
    for key, (change, got, lost, rows) in expected.items():
        told = diff.tables[key]
        assert told.change.value == change
        assert frozenset(told.added_properties) == got
        assert frozenset(told.removed_properties) == lost
        listed = diff.rows(key).read_all().to_pylist()
        assert {r["id"]: (r["change"], r["before"], r["after"]) for r in listed} == rows
        assert len(listed) == len(rows)
        counts = {"insert": told.inserted, "update": told.updated, "delete": told.deleted}
        assert counts == {each: [r["change"] for r in listed].count(each) for each in counts}


def follow(world: World, turn: int, branch: str, limit: int | None) -> None:
    """Go on with the changes feed from where it was left; replayed, it gives the state."""
    line = world.lines[branch]
    cursor, rows = world.readers.get(line.number, (None, {}))
    whole = world.model.line(line.head)[::-1]
    rest = whole if cursor is None else whole[whole.index(cursor) + 1 :]
    seen = []
    try:
        for change_set in world.repo(turn).changes(cursor, branch=branch, limit=limit):
            seen.append(change_set.cursor)
            _replay(change_set, rows)
            cursor = change_set.cursor
            assert rows == world.model.commits[cursor].rows
    except SnapshotExpired:
        # What a cleanup took is told; a reader begins again from what there is.
        assert world.doubtful.intersection([*rest, *([cursor] if cursor else [])])
        cursor, rows = line.head, world.head(branch).rows
    else:
        assert seen == rest[:limit]
    world.readers[line.number] = (cursor, rows)


def _replay(change_set: ChangeSet, rows: dict[str, dict[str, Any]]) -> None:
    for key, table in change_set.diff.tables.items():
        held = rows.setdefault(key, {})
        changed = change_set.diff.rows(key).read_all().to_pylist()
        for row in changed:
            assert held.pop(row["id"], None) == row["before"]
        for row in held.values():
            for name in table.removed_properties:
                del row[name]
            row.update(dict.fromkeys(table.added_properties))
        held.update({row["id"]: row["after"] for row in changed if row["after"] is not None})
        if table.change.value == "removed":
            assert not rows.pop(key)


def begin(world: World, turn: int, branch: str) -> None:
    """Begin a run."""
    line = world.lines[branch]
    run = world.repo(turn).runs.begin(branch)
    world.runs.append(Underway(run, line.number, line.head, world.head(branch)))


def step(underway: Underway, changes: list[Change]) -> None:
    """Let a run change rows; nobody else sees them."""
    before = underway.state
    after = State(before.types, copy.deepcopy(before.rows))
    change_all(after, changes)
    with underway.run.transaction() as tx:
        write_all(tx, before, after)
    underway.touched |= touched(before, after)
    underway.state = after
    assert content(underway.run.snapshot()) == (after.types, after.rows)


def publish(world: World, underway: Underway, *, give_up: bool) -> None:
    """Publish a run, or abort it."""
    world.runs.remove(underway)
    line = world.alive(underway.line)
    assert line is not None
    if give_up:
        underway.run.abort()
        world.check(line.name)
        return
    start, now = world.model.commits[underway.start], world.head(line.name)
    try:
        commit = underway.run.publish()
    except RunConflict:
        assert line.head != underway.start
        underway.run.abort()
    else:
        assert not touched(start, now) & underway.touched
        for key in underway.touched:
            now.rows[key] = underway.state.rows[key]
        assert is_whole(now)
        if commit is not None:
            world.record(line.name, commit.graph_commit_id, now)
    world.check(line.name, 1)
