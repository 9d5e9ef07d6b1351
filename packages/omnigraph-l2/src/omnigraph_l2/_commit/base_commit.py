"""Commit to a table so that the new version is exactly its base plus this change.

Invariant: the version that is returned holds no row of another writer, whatever others commit to
the same dataset at the same time and whatever a crash has left at its head. Versions that turn out
to hold such rows are left in the dataset and never published.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from omnigraph_l1 import Commit, Staged, Table
from omnigraph_l1.errors import CommitConflict, L1Error, OutcomeUnknown
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._model.deadlines import COMMIT_SECONDS, wait_seconds
from omnigraph_l2._model.events import emit
from omnigraph_l2._store.repository_root import refuse_auto_cleanup
from omnigraph_l2.errors import OmniGraphError, StorageError, TableContention

__all__ = ["commit_exactly", "done_exactly"]

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
    """Do the same with a call that stages and commits in one; None if it commits nothing."""
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
                raise _contention(base, failure) from failure
        else:
            if done is None:
                return base
            failpoint(_COMMITTED)
            if done.follows_base:
                return done.table
            if time.monotonic() > deadline:
                raise _contention(base, lost) from lost
        emit("stranger_at_head", location=str(base.location), branch=base.branch, base=base.version)
        if on is not base:
            time.sleep(random.uniform(0, pause))  # noqa: S311 - spreads writers
            pause = min(2 * pause, _LONGEST_PAUSE)
        on, lost = _restore(base)


def _contention(base: Table, failure: L1Error | None) -> OmniGraphError:
    location = str(base.location)
    if isinstance(failure, OutcomeUnknown):
        return StorageError(location=location, detail=f"{failure.detail}. Nothing was published.")
    detail = "no commit followed its base." if failure is None else str(failure)
    return TableContention(location=location, detail=detail)


def _restore(base: Table) -> tuple[Table, OutcomeUnknown | None]:
    """Return the table to commit on, and how the reply was lost if it was.

    Whether it landed then shows when something is committed on top of it.
    """
    refuse_auto_cleanup(base.refresh())
    try:
        restored = base.restore(base.version).table
    except OutcomeUnknown as lost:
        return base, lost
    failpoint(_RESTORED)
    return restored, None
