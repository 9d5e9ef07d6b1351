"""What the processes do that race about one name of a branch. A module that they import.

Always: each outcome is told. An error that is not in ``ALLOWED`` is told as a fault, whole.
"""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final
from unittest import mock

import attrs
import pyarrow as pa
from fleet import Location

from omnigraph_l2 import (
    EdgeType,
    GraphCommit,
    GraphSchema,
    MergeResult,
    NodeType,
    Repository,
    Snapshot,
)
from omnigraph_l2.errors import (
    BranchExists,
    BranchInUse,
    MergeConflict,
    MergeConflicts,
    OmniGraphError,
    SnapshotExpired,
    TagExists,
    UnknownBranch,
    UnknownReference,
    UnknownTag,
)

__all__ = [
    "ALLOWED",
    "EACH",
    "ITEM",
    "LONELY",
    "NAME",
    "NEXT",
    "OTHER",
    "SCHEMA",
    "SHARED",
    "Done",
    "Told",
    "race",
]

ITEM, NEXT = "node:Item", "edge:Next"
SCHEMA = GraphSchema(
    nodes=[NodeType("Item", {"value": pa.int64()}), NodeType("Other", {"value": pa.int64()})],
    edges=[EdgeType("Next", "Item", "Item")],
)
NAME, DEEPER = "contested", "deeper"
OTHER = "node:Other"
SHARED: Final = tuple(f"k{n}" for n in range(6))
"""Rows that everybody changes. All others are written once, and have one edge each, to ``k0``."""
LONELY: Final = "lonely"
"""The one row of the other table, which is not always written to."""

_GONE = "somebody deleted the name, or deleted and made it again, meanwhile"
_TAKEN = "somebody made it first"
_CLASH = "both sides have changed the same row: one of the shared ones"
_OLD = "nobody holds a lease on a moment as old, and cleanup keeps nothing for its age"
_USED = "a branch started from it, or a tag names its commit, and nobody said force"

ALLOWED: Final[Mapping[str, Mapping[type[OmniGraphError], str]]] = {
    "write main": {},
    "create": {BranchExists: _TAKEN},
    "create from commit": {BranchExists: _TAKEN, SnapshotExpired: _OLD},
    "create from tag": {BranchExists: _TAKEN, UnknownReference: "somebody deleted the tag"},
    "create deeper": {BranchExists: _TAKEN, UnknownReference: _GONE, UnknownBranch: _GONE},
    "write": {UnknownBranch: _GONE},
    "write deeper": {UnknownBranch: _GONE},
    "merge": {UnknownReference: _GONE, UnknownBranch: _GONE, MergeConflicts: _CLASH},
    "update": {UnknownBranch: _GONE, MergeConflicts: _CLASH},
    "revert": {MergeConflicts: _CLASH, SnapshotExpired: _OLD},
    "delete": {UnknownBranch: _GONE, BranchInUse: _USED},
    "delete by force": {UnknownBranch: _GONE},
    "delete deeper": {UnknownBranch: _GONE, BranchInUse: _USED},
    "tag main": {TagExists: _TAKEN},
    "tag": {TagExists: _TAKEN, UnknownReference: _GONE, UnknownBranch: _GONE},
    "untag": {UnknownTag: "somebody deleted it first"},
    "read": {UnknownBranch: _GONE, SnapshotExpired: _GONE},
    "cleanup": {},
    "optimize": {},
    "optimize branch": {UnknownBranch: _GONE},
    "verify": {},
}
"""The errors that may come out of each operation, and why."""

_OFTEN: Final = {
    "write main": 6,
    "create": 6,
    "create from commit": 2,
    "create from tag": 2,
    "create deeper": 2,
    "write": 10,
    "write deeper": 2,
    "merge": 8,
    "update": 5,
    "revert": 3,
    "delete": 3,
    "delete by force": 4,
    "delete deeper": 2,
    "tag main": 2,
    "tag": 3,
    "untag": 3,
    "read": 3,
    "cleanup": 5,
    "optimize": 2,
    "optimize branch": 1,
}
_TAGS: Final = 2
EACH: Final = ("create", "write", "merge", "cleanup", "delete by force")
"""What has to succeed at least once, or nothing was raced for."""
_MORE: Final = 40


@attrs.frozen(kw_only=True)
class Done:
    """A commit that was acknowledged, and what it is."""

    commit: GraphCommit
    branch: str
    rows: Mapping[str, int] = attrs.field(factory=dict)
    """What it wrote."""
    strategy: str | None = None
    """Of a merge or a revert."""
    resolved: frozenset[str] = frozenset()
    """The rows about which the strategy of a merge decided."""
    reverted: str | None = None


@attrs.define
class Told:
    """What one process tells in the end."""

    done: list[Done] = attrs.field(factory=list)
    outcomes: list[tuple[str, str]] = attrs.field(factory=list)
    """Each operation, and the name of the error, or nothing."""
    faults: list[str] = attrs.field(factory=list)


def race(location: Location, number: int, count: int, seed: int) -> Told:
    """Do so many operations; the first process writes to main only, and looks whether it is whole.

    A lease is renewed at each turn, and what is a second old counts as at rest (not an hour): so
    cleanups remove also what those left who made or deleted a branch a moment ago. It is believed
    for longer than a busy machine holds a process up.
    """
    with (
        mock.patch("omnigraph_l2._maintenance.cleanup_plan.MARGIN", timedelta(seconds=1)),
        mock.patch("omnigraph_l2._commit.leases.SHORT_READ_SECONDS", 0.0),
        location.open(actor=f"w{number}") as repository,
    ):
        repository._leases._seconds = 15.0
        draw = random.Random(seed * 100 + number)
        names = draw.choices(list(_OFTEN), list(_OFTEN.values()), k=count)
        racer = _Racer(repository, number, draw)
        for turn, name in enumerate(names):
            repository._leases._wake.set()
            racer.turn(turn, count, name)
        racer.finish(count)
        return racer.told


class _Racer:
    """One process."""

    def __init__(self, repository: Repository, number: int, draw: random.Random) -> None:
        self._repository = repository
        self._number = number
        self._draw = draw
        self._turn = 0
        self._held: tuple[Snapshot, pa.Table] | None = None
        self.told = Told()

    def turn(self, turn: int, count: int, name: str) -> None:
        """Do one operation."""
        self._turn = turn
        if self._number == 0:
            name = "verify" if turn == count // 2 else "write main"
        outcome = ""
        try:
            self._operations[name](self)
        except tuple(ALLOWED[name]) as error:
            outcome = type(error).__name__
            self._check(error)
        except Exception:  # noqa: BLE001 - told in the parent
            outcome = "fault"
            self.told.faults.append(f"{name}, turn {turn} of {self._number}\n" + _trace())
        self.told.outcomes.append((name, outcome))
        self._look_again()

    def finish(self, count: int) -> None:
        """Go on, in the race as before, until each of ``EACH`` has succeeded here once.

        A few draws alone may miss one, or find the name gone each time. The turns are bounded.
        """
        turn = count
        while turn < count + _MORE and self._number != 0:
            name = next((each for each in EACH if (each, "") not in self.told.outcomes), None)
            if name is None:
                break
            for needed in ("create", name):
                self.turn(turn, count, needed)
                turn += 1

    def _check(self, error: OmniGraphError) -> None:
        if isinstance(error, MergeConflicts):
            others = [
                each
                for each in error.conflicts
                if each.row_id not in {*SHARED, LONELY} and not _has_no_base(each)
            ]
            if others:
                self.told.faults.append(f"a conflict about a row that is written once: {others}")

    def _look_again(self) -> None:
        """Read what is held on to: it never changes, and is never cleaned up."""
        try:
            if self._held is not None:
                snapshot, first = self._held
                assert snapshot.read(ITEM).sort_by("id").equals(first)
            if self._held is None or self._turn % 7 == 0:
                snapshot = self._repository.snapshot()
                self._held = snapshot, snapshot.read(ITEM).sort_by("id")
        except Exception:  # noqa: BLE001 - told in the parent
            self.told.faults.append(f"a snapshot that is held, turn {self._turn}\n" + _trace())
            self._held = None

    # Changing rows.

    def _write(self, branch: str) -> None:
        new = f"{self._number}-{self._turn}"
        stamp = self._number * 1_000_000 + self._turn
        rows = {new: stamp, self._draw.choice(SHARED): stamp}
        with self._repository.transaction(branch) as tx:
            tx.upsert(ITEM, [{"id": each, "value": value} for each, value in rows.items()])
            tx.append(NEXT, [{"id": new, "src": new, "dst": SHARED[0]}])
            if self._draw.random() < 0.3:
                tx.upsert(OTHER, [{"id": LONELY, "value": stamp}])
                rows[LONELY] = stamp
        assert tx.commit is not None
        self.told.done.append(Done(commit=tx.commit, branch=branch, rows=rows))

    def _merge(self, source: str, into: str) -> None:
        strategy: Any = self._draw.choice(["error", "ours", "theirs", "theirs"])
        result: MergeResult = self._repository.branches.merge(source, into, strategy=strategy)
        if result.commit is not None:
            resolved = frozenset(
                str(each.row_id) for each in result.resolved if each.table_key in {ITEM, OTHER}
            )
            self.told.done.append(
                Done(commit=result.commit, branch=into, strategy=strategy, resolved=resolved)
            )

    def _revert(self) -> None:
        log = self._repository.log(limit=6)
        ours = [each.graph_commit_id for each in log if each.actor_id is not None]
        if not ours:  # the commit before them has the rows that all edges need
            return
        chosen = self._draw.choice(ours)
        strategy: Any = self._draw.choice(["error", "ours", "theirs"])
        commit = self._repository.revert(chosen, strategy=strategy)
        if commit is not None:
            self.told.done.append(
                Done(commit=commit, branch="main", strategy=strategy, reverted=chosen)
            )

    def _recent(self, most: int) -> str:
        log = self._repository.log(limit=most)
        young = [each for each in log if each.parent_commit_id is not None]
        return self._draw.choice(young).graph_commit_id

    def _optimize(self, branch: str) -> None:
        report = self._repository.optimize(branch=branch)
        for each in report.tables.values():
            if each.commit is not None:
                self.told.done.append(Done(commit=each.commit, branch=branch))

    # Names.

    def _delete(self, name: str, *, force: bool = False) -> None:
        self._repository.branches.delete(name, force=force)

    def _tag(self, kind: str) -> str:
        return f"{kind}-{self._draw.randrange(_TAGS)}"

    def _untag(self) -> None:
        self._repository.tags.delete(self._tag(self._draw.choice(["of-main", "of-branch"])))

    # Looking.

    def _read(self) -> None:
        snapshot = self._repository.snapshot(NAME)
        items = set(snapshot.read(ITEM).column("id").to_pylist())
        edges = set(snapshot.read(NEXT).column("id").to_pylist())
        assert edges == items - set(SHARED), "a part of a transaction"

    def _cleanup(self) -> None:
        report = self._repository.cleanup(timedelta(0), dry_run=False)
        assert report.failed == 0

    def _verify(self) -> None:
        report = self._repository.verify(dangling_edges=True)
        assert report.ok, str(report)

    _operations: Mapping[str, Callable[[_Racer], None]] = {
        "write main": lambda self: self._write("main"),
        "create": lambda self: _ignore(self._repository.branches.create(NAME)),
        "create from commit": lambda self: _ignore(
            self._repository.branches.create(NAME, self._recent(4))
        ),
        "create from tag": lambda self: _ignore(
            self._repository.branches.create(NAME, self._tag("of-main"))
        ),
        "create deeper": lambda self: _ignore(self._repository.branches.create(DEEPER, NAME)),
        "write": lambda self: self._write(NAME),
        "write deeper": lambda self: self._write(DEEPER),
        "merge": lambda self: self._merge(NAME, "main"),
        "update": lambda self: self._merge("main", NAME),
        "revert": _revert,
        "delete": lambda self: self._delete(NAME),
        "delete by force": lambda self: self._delete(NAME, force=True),
        "delete deeper": lambda self: self._delete(DEEPER),
        "tag main": lambda self: _ignore(self._repository.tags.create(self._tag("of-main"))),
        "tag": lambda self: _ignore(self._repository.tags.create(self._tag("of-branch"), NAME)),
        "untag": _untag,
        "read": _read,
        "cleanup": _cleanup,
        "optimize": lambda self: self._optimize("main"),
        "optimize branch": lambda self: self._optimize(NAME),
        "verify": _verify,
    }


def _has_no_base(conflict: MergeConflict) -> bool:
    """Tell whether what both come from is gone with its branch; else one side has added the row."""
    return conflict.base is None and (conflict.ours is None or conflict.theirs is None)


def _ignore(made: object) -> None:
    del made


def _trace() -> str:
    return traceback.format_exc()
