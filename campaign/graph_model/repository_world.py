"""A repository beside its model, changed in step: transactions, types, branches.

Invariant: what the model takes is published, and shown by the branch from then on; what it does not
take is refused, and changes nothing. Two handles on one location work in turns.
"""

# ruff: noqa: S101 - a test, to be run by others

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from datetime import timedelta

import attrs
import pytest

from campaign.graph_model.graph_states import (
    ENDS,
    KEYS,
    START,
    content,
    emptied,
    is_whole,
    put,
    schema_of,
    toggle,
)
from campaign.graph_model.merge_model import Model, Row, Rows, State
from omnigraph_l2 import Repository, Run, Snapshot, Transaction
from omnigraph_l2.errors import (
    BranchExists,
    BranchInUse,
    DanglingEdges,
    DuplicateIds,
    DuplicateValues,
    SnapshotExpired,
    UnknownBranch,
    UnknownReference,
)

__all__ = ["NAMES", "Change", "Held", "Line", "Operation", "Underway", "World", "write_all"]

NAMES = ("one", "one/two", "three", "人")
Change = tuple[int, int, int, int]
"""A table, a row, an end, a value; all of them just numbers."""
Operation = tuple[str, list[Change]]
"""What is done to the table of the first of some changes."""


@attrs.define
class Line:
    """A branch, from its making to its end. One of the same name made later is another."""

    name: str
    head: str
    parent: int | None
    number: int


@attrs.define
class Held:
    """A snapshot that somebody keeps open."""

    snapshot: Snapshot
    commit: str
    line: int


@attrs.define
class Underway:
    """A run that has not ended."""

    run: Run
    line: int
    start: str
    state: State
    touched: set[str] = attrs.field(factory=set)


class World:
    """All there is, twice."""

    def __init__(self, handles: Sequence[Repository]) -> None:
        self.handles = handles
        for each in handles:
            each._leases.short_read_seconds = 0.0  # noqa: SLF001 - a cleanup keeps nothing for them
        self.model = Model(ENDS)
        self._numbers = itertools.count()
        (genesis,) = self.repo().log()
        self.lines = {"main": Line("main", genesis.graph_commit_id, None, next(self._numbers))}
        self.made_on = {genesis.graph_commit_id: self.lines["main"].number}
        self.stood_on: dict[int, int | None] = {self.lines["main"].number: None}
        """For each line there ever was, the one that it started from."""
        self.tags: dict[str, tuple[str, int]] = {}
        """What each names, and the number of the line that it is kept on."""
        self.held: list[Held] = []
        self.runs: list[Underway] = []
        self.readers: dict[int, tuple[str | None, Rows]] = {}
        """How far somebody has followed a line, and what there was by then."""
        self.passed: set[str] = set()
        """Commits that a cleanup has seen when their branch had gone on."""
        start = State(copy.deepcopy(START), {key: {} for key in KEYS})
        self.model.commits[genesis.graph_commit_id] = start

    def repo(self, turn: int = 0) -> Repository:
        """Give a handle."""
        return self.handles[turn % len(self.handles)]

    def name(self, number: int) -> str:
        """Choose a branch that there is."""
        return sorted(self.lines)[number % len(self.lines)]

    def head(self, branch: str) -> State:
        """Give a copy of what a branch shows."""
        return copy.deepcopy(self.model.commits[self.lines[branch].head])

    def alive(self, number: int) -> Line | None:
        """Give the branch that is still the same."""
        return next((each for each in self.lines.values() if each.number == number), None)

    def record(self, branch: str, commit_id: str, state: State, *more: str) -> None:
        """Note a new commit of a branch."""
        line = self.lines[branch]
        state.parents = (line.head, *more)
        state.age = len(self.model.commits)
        self.model.commits[commit_id] = state
        self.made_on[commit_id] = line.number
        line.head = commit_id

    def needed(self) -> set[int]:
        """Give the lines that have a name or a tag, or on which one of these stands."""
        found: set[int] = set()
        todo = [each.number for each in self.lines.values()]
        todo += [number for _, number in self.tags.values()]
        while todo:
            number = todo.pop()
            if number not in found:
                found.add(number)
                above = self.stood_on[number]
                todo += [] if above is None else [above]
        return found

    def look_around(self) -> None:
        """Note of which commits the data is gone, because their branch was deleted."""
        needed = self.needed()
        self.model.gone = {
            commit for commit, number in self.made_on.items() if number not in needed
        }

    @property
    def doubtful(self) -> set[str]:
        """Give the commits that a cleanup may have taken: nothing else keeps them now."""
        kept = {each.head for each in self.lines.values()} | {each.commit for each in self.held}
        kept |= {commit for commit, _ in self.tags.values()} | {each.start for each in self.runs}
        return self.passed - kept

    # Rows and types.

    def write(self, turn: int, branch: str, changes: list[Change], *, anew: bool = False) -> None:
        """Change rows, so that all stays whole; a table is upserted, or written anew."""
        before, after = self.head(branch), self.head(branch)
        change_all(after, changes)
        with self.repo(turn).transaction(branch) as tx:
            write_all(tx, before, after, anew=anew)
        if tx.commit is not None:
            self.record(branch, tx.commit.graph_commit_id, after)
        else:
            assert before.rows == after.rows
        self.check(branch, turn + 1)

    def attempt(self, turn: int, branch: str, operations: list[Operation]) -> None:
        """Do things in one transaction that the model may refuse: all of them, or none."""
        before, after = self.head(branch), self.head(branch)
        if not after.types:
            return
        planned, taken = [], True
        for kind, changes in operations:
            key = sorted(after.types)[changes[0][0] % len(after.types)]
            rows = _rows_of(after, key, changes)
            held = after.rows[key] = {} if kind == "overwrite" else after.rows[key]
            taken &= not (kind == "append" and rows.keys() & held.keys())
            for row_id, row in rows.items():
                held.pop(row_id, None)
                if kind != "delete":
                    held[row_id] = row
            planned.append((kind, key, rows))
        try:
            with self.repo(turn).transaction(branch) as tx:
                for kind, key, rows in planned:
                    if kind == "delete":
                        tx.delete(key, ids=list(rows))
                    else:
                        getattr(tx, kind)(key, list(rows.values()))
        except (DuplicateIds, DuplicateValues, DanglingEdges):
            assert not (taken and is_whole(after)), planned
        else:
            assert taken, planned
            assert is_whole(after), planned
            if tx.commit is not None:
                self.record(branch, tx.commit.graph_commit_id, after)
            else:
                assert before.rows == after.rows
        self.check(branch, turn + 1)

    def evolve(self, turn: int, branch: str, what: int) -> None:
        """Drop or add a type or a property."""
        before, state = self.head(branch), self.head(branch)
        if not toggle(state, what):
            return
        commit = self.repo(turn).evolve(schema_of(state.types), branch=branch)
        assert (commit is None) == (before.types == state.types)
        if commit is not None:
            self.record(branch, commit.graph_commit_id, state)
        self.check(branch, turn + 1)

    # Branches.

    def create(self, turn: int, name: str, source: str, start: str, parent: int) -> None:
        """Start a branch at what is meant by a source."""
        if name in self.lines:
            with pytest.raises(BranchExists):
                self.repo(turn).branches.create(name, source)
            return
        try:
            made = self.repo(turn).branches.create(name, source)
        except (SnapshotExpired, UnknownBranch) as error:
            self.excuse(error, start)
            return
        assert made.head_commit_id == start
        self.lines[name] = line = Line(name, start, parent, next(self._numbers))
        self.stood_on[line.number] = parent
        self.check(name, turn + 1)

    def excuse(self, error: Exception, *commits: str) -> None:
        """Let an error be where a cleanup, or a forced delete, has taken what was asked for."""
        if isinstance(error, UnknownBranch | UnknownReference):
            assert any(self.made_on[each] not in self.needed() for each in commits), error
        else:
            assert self.doubtful.intersection(commits), error

    def delete(self, turn: int, name: str, *, force: bool) -> None:
        """Delete a branch, if nobody needs it or by force."""
        line = self.lines[name]
        children = sorted(each.name for each in self.lines.values() if each.parent == line.number)
        runs = sorted(each.run.run_id for each in self.runs if each.line == line.number)
        tags = sorted(tag for tag, (_, number) in self.tags.items() if number == line.number)
        if (children or runs or tags) and not force:
            with pytest.raises(BranchInUse) as refused:
                self.repo(turn).branches.delete(name)
            found = refused.value
            assert (sorted(found.children), sorted(found.runs)) == (children, runs)
            assert sorted(found.tags) == tags
            return
        self.repo(turn).branches.delete(name, force=force)
        del self.lines[name]
        self.runs = [each for each in self.runs if each.line != line.number]
        self.held = [each for each in self.held if each.line != line.number]
        self.readers.pop(line.number, None)
        self.look_around()
        for handle in self.handles:
            with pytest.raises(UnknownBranch):
                handle.snapshot(name)

    # Looking.

    def check(self, branch: str, turn: int = 0) -> None:
        """Compare a branch with its model."""
        line = self.lines[branch]
        state = self.model.commits[line.head]
        snapshot = self.repo(turn).snapshot(branch)
        assert snapshot.commit is not None
        assert snapshot.commit.graph_commit_id == line.head
        assert content(snapshot) == (state.types, state.rows)

    def check_all(self, turn: int = 0) -> None:
        """Compare all that anybody relies on."""
        repo = self.repo(turn)
        assert [each.name for each in repo.branches.list()] == [
            "main",
            *sorted(name for name in self.lines if name != "main"),
        ]
        for name, line in self.lines.items():
            self.check(name, turn)
            assert repo.branches.get(name).head_commit_id == line.head
            log = [each.graph_commit_id for each in repo.log(name)]
            assert log == self.model.line(line.head)
        assert [each.name for each in repo.tags.list()] == sorted(self.tags)
        for tag, (commit, _) in self.tags.items():
            state = self.model.commits[commit]
            assert content(repo.snapshot(tag=tag)) == (state.types, state.rows), tag
        for held in self.held:
            state = self.model.commits[held.commit]
            assert content(held.snapshot) == (state.types, state.rows)
        for each in self.runs:
            assert content(each.run.snapshot()) == (each.state.types, each.state.rows)

    def end(self) -> None:
        """Look whether all is well in the end."""
        for turn in range(len(self.handles)):
            self.check_all(turn)
        report = self.repo().verify(dangling_edges=True)
        assert report.ok, str(report)

    # Upkeep.

    def optimize(self, turn: int, branch: str) -> None:
        """Tidy up; each table is a commit of its own that changes nothing."""
        repo = self.repo(turn)
        repo.optimize(branch=branch)
        head, new = self.lines[branch].head, []
        for commit in repo.log(branch):
            if commit.graph_commit_id == head:
                break
            new.append(commit.graph_commit_id)
        for commit_id in reversed(new):
            self.record(branch, commit_id, self.head(branch))
        self.check(branch, turn + 1)

    def cleanup(self, turn: int) -> None:
        """Remove all that nobody needs.

        Who only looks writes down what it needs now; else its lease keeps what it read at first.
        """
        for handle in self.handles:
            handle.cleanup(timedelta(0))
        report = self.repo(turn).cleanup(timedelta(0), dry_run=False)
        assert report.failed == 0
        heads = {
            each.head for each in self.lines.values() if self.made_on[each.head] == each.number
        }
        self.passed = self.model.commits.keys() - heads


def change_all(state: State, changes: list[Change]) -> None:
    """Change rows of a state; what would not be whole then goes."""
    for table, row, end, value in changes:
        if state.types:
            put(state, sorted(state.types)[table % len(state.types)], row, end, value)
    emptied(state)


def _rows_of(state: State, key: str, changes: list[Change]) -> dict[str, Row]:
    """Make rows for a table, some of them edges to nowhere."""
    scratch, found = copy.deepcopy(state), {}
    for _, number, end, value in changes:
        row = put(scratch, key, number, end, value + 1)
        if row is not None:
            nowhere = {"dst": "nobody"} if key in ENDS and value == end else {}
            found[row["id"]] = {**row, **nowhere}
    return found


def write_all(tx: Transaction, before: State, after: State, *, anew: bool = False) -> None:
    """Make one state another, in a transaction."""
    for key, rows in after.rows.items():
        old = before.rows[key]
        gone = sorted(old.keys() - rows.keys())
        new = [row for row_id, row in rows.items() if old.get(row_id) != row]
        if anew and (gone or new):
            tx.overwrite(key, list(rows.values()))
            continue
        if gone:
            tx.delete(key, ids=gone)
        if new:
            tx.upsert(key, new)
