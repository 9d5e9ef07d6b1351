"""Commit to a table so that the new version is exactly its base plus this change, and compact it.

Invariants: the version that is returned holds no row of another writer, whatever others commit to
the same dataset at the same time and whatever a crash has left at its head. Versions that turn out
to hold such rows are left in the dataset and never published. A compaction changes no row; it
returns the version that it was given if another writer interfered. Fragments are merged in tiers,
so that the cost of a row is logarithmic in the number of rows.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Sequence

from omnigraph_l1 import Commit, Staged, Table
from omnigraph_l1.errors import CommitConflict, Conflict, L1Error, OutcomeUnknown
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._model.deadlines import COMMIT_SECONDS, wait_seconds
from omnigraph_l2._model.events import emit
from omnigraph_l2._store.repository_root import refuse_auto_cleanup
from omnigraph_l2.errors import OmniGraphError, StorageError, TableContention

__all__ = [
    "commit_exactly",
    "compact_if_due",
    "contention_error",
    "done_exactly",
    "merge_target",
]

_RESTORED = declare("l2.table.restored", "the head of a table is its pinned version again")
_COMMITTED = declare("l2.table.committed", "a table has the change, not yet visible")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.2


def commit_exactly(base: Table, stage: Callable[[Table], Staged]) -> Table:
    """Commit a change on ``base``; return the version that holds it, or ``base`` for no change."""

    def commit(on: Table) -> Commit | None:
        change = stage(on)
        return None if change.is_empty else on.commit(change)

    return done_exactly(base, commit)


def done_exactly(base: Table, commit: Callable[[Table], Commit | None]) -> Table:
    """Do what ``commit_exactly`` does, with a function that stages and commits in one call.

    It returns None if it has committed nothing.
    """
    deadline = time.monotonic() + wait_seconds(COMMIT_SECONDS)
    pause = _FIRST_PAUSE
    on = base
    lost: OutcomeUnknown | None = None
    if base.location.is_local and base.refresh().version != base.version:
        # Elsewhere looking costs a request, and the commit itself finds out.
        on, lost = _restore(base)
    while True:
        try:
            done = commit(on)
        except (CommitConflict, OutcomeUnknown) as failure:
            # A commit whose reply was lost may land yet: in a version that is never published.
            if time.monotonic() > deadline:
                raise contention_error(base, failure) from failure
        else:
            if done is None:
                return base
            failpoint(_COMMITTED)
            if done.follows_base:
                return done.table
            if time.monotonic() > deadline:
                raise contention_error(base, lost) from lost
        emit("stranger_at_head", location=str(base.location), branch=base.branch, base=base.version)
        if on is not base:
            time.sleep(random.uniform(0, pause))  # noqa: S311 - spreads writers
            pause = min(2 * pause, _LONGEST_PAUSE)
        on, lost = _restore(base)


def contention_error(base: Table, failure: L1Error | None) -> OmniGraphError:
    """Return the error for a table that could not be committed to until the deadline."""
    location = str(base.location)
    if isinstance(failure, OutcomeUnknown):
        return StorageError(location=location, detail=f"{failure.detail}. Nothing was published.")
    detail = "no commit followed its base." if failure is None else str(failure)
    return TableContention(location=location, detail=detail)


def _restore(base: Table) -> tuple[Table, OutcomeUnknown | None]:
    """Make the pinned version the head again; return the table to commit on.

    If the reply is lost, that is the base, with the error: the next commit shows what landed.
    """
    refuse_auto_cleanup(base.refresh())
    try:
        restored = base.restore(base.version).table
    except OutcomeUnknown as lost:
        return base, lost
    failpoint(_RESTORED)
    return restored, None


_TIERS = (4_096, 65_536, 1_048_576)
_SMALL_FRAGMENTS = 32
_INDEXED_FROM_ROWS = 4_096


def merge_target(fragment_rows: Collection[int]) -> int | None:
    """Return the size up to which fragments should be merged now; None if nothing is due."""
    due = [
        tier for tier in _TIERS if sum(rows < tier for rows in fragment_rows) >= _SMALL_FRAGMENTS
    ]
    return min(due, default=None)


def compact_if_due(table: Table, indexed: Sequence[str]) -> Table:
    """Merge small fragments and extend the indexes of some columns, if that is due.

    Return the table as it was where others are faster or the store fails: it is due again later.
    """
    rows = table.fragments()
    target = merge_target(rows.values())
    if target is None:
        return table
    try:
        compacted = table.compact(target_rows=target, drop_deleted=target == _TIERS[-1])
        if not compacted.follows_base:
            return table
        return (
            _extend_indexes(compacted.table, indexed)
            if table.count() >= _INDEXED_FROM_ROWS
            else (compacted.table)
        )
    except Conflict:
        return table
    except (OutcomeUnknown, StorageError) as error:
        emit("compaction_failed", location=str(table.location), error=str(error))
        return table


def _extend_indexes(table: Table, columns: Sequence[str]) -> Table:
    known = {info.columns[0]: info for info in table.indexes().values()}
    for column in columns:
        info = known.get(column)
        done = table.create_index(column) if info is None else table.extend_index(info.name)
        if not done.follows_base:
            return table
        table = done.table
    return table
