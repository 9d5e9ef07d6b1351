"""Committing to a table so that the new version is exactly its base plus this change.

Always: what comes back holds no row of anybody else, whatever others commit to the same dataset
meanwhile, and whatever a crash has left at its head. Versions that turned out to hold a stranger's
rows are left where they are: nobody publishes them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from omnigraph_l1 import Commit, Staged, Table
from omnigraph_l1.errors import CommitConflict, L1Error, OutcomeUnknown
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._events import emit
from omnigraph_l2.errors import OmniGraphError, StorageError, TableContention

__all__ = ["commit_exactly", "done_exactly"]

_RESTORED = declare("l2.table.restored", "the head of a table is its pinned version again")
_COMMITTED = declare("l2.table.committed", "a table has the change, and nobody can see it")

_PATIENCE_SECONDS = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.2


def commit_exactly(base: Table, stage: Callable[[Table], Staged]) -> Table:
    """Commit a change on ``base``; give the version that holds it, or ``base`` for no change."""

    def commit(on: Table) -> Commit | None:
        change = stage(on)
        return None if change.is_empty else on.commit(change)

    return done_exactly(base, commit)


def done_exactly(base: Table, commit: Callable[[Table], Commit | None]) -> Table:
    """Do the same with what stages and commits in one; None where nothing is to be committed."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    pause = _FIRST_PAUSE
    on = base
    if base.place.is_local and base.refresh().version != base.version:
        # Elsewhere looking costs a request, and the commit itself finds out.
        on = _restored(base)
    while True:
        try:
            done = commit(on)
        except (CommitConflict, OutcomeUnknown) as failure:
            # A commit whose reply was lost may land yet: in a version that nobody will publish.
            if time.monotonic() > deadline:
                raise _contended(base, failure) from failure
        else:
            if done is None:
                return base
            failpoint(_COMMITTED)
            if done.follows_base:
                return done.table
            if time.monotonic() > deadline:
                raise _contended(base, None)
        emit("stranger_at_head", place=str(base.place), branch=base.branch, base=base.version)
        if on is not base:
            time.sleep(random.uniform(0, pause))  # noqa: S311 - spreads writers
            pause = min(2 * pause, _LONGEST_PAUSE)
        on = _restored(base)


def _contended(base: Table, failure: L1Error | None) -> OmniGraphError:
    place = str(base.place)
    if isinstance(failure, OutcomeUnknown):
        return StorageError(place=place, detail=f"{failure.detail}. Nothing was published.")
    detail = "no commit followed its base." if failure is None else str(failure)
    return TableContention(place=place, detail=detail)


def _restored(base: Table) -> Table:
    try:
        restored = base.restore(base.version).table
    except OutcomeUnknown:
        return base  # whether it landed shows when something is committed on top of it
    failpoint(_RESTORED)
    return restored
