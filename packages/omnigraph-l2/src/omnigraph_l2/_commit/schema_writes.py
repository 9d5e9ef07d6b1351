"""What a schema change does to datasets before it is published: create, empty, change columns.

Invariant: nothing of this is visible before the publish, and what is already published stays as it
is. A dataset that already exists, because a process died or a type was dropped, is reused: its next
version is empty and has the wanted columns, so that no old row comes back.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import pyarrow as pa

from omnigraph_l1 import Table, new_ulid, table_path
from omnigraph_l1.errors import CommitConflict, DatasetExists, L1Error, OutcomeUnknown
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._catalog.catalog_state import TableEntry
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._model.deadlines import SCHEMA_WRITE_SECONDS, wait_seconds
from omnigraph_l2._store.exact_commit import contention_error, done_exactly
from omnigraph_l2._store.repository_root import RepositoryRoot

__all__ = ["create_fork_table", "empty_table", "redeclare_table", "reshape_table"]

_CREATED = declare("l2.evolve.created", "the dataset of a new type is made, not yet visible")
_EMPTIED = declare("l2.evolve.emptied", "a dataset is empty and has the columns that are wanted")
_DROPPED = declare("l2.evolve.dropped", "columns are gone from a table, not yet visible")
_ADDED = declare("l2.evolve.added", "columns are added to a table, not yet visible")
_DECLARED = declare("l2.evolve.declared", "a table has a version for its new declaration, unseen")

_CHANGED = "omnigraph:declared"

_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.2


def create_fork_table(
    root: RepositoryRoot, branch: BranchSession, table_key: str, columns: pa.Schema, *, above: int
) -> Table:
    """Return an empty version, above a certain one, of a table that the branch does not have."""
    path = table_path(table_key)
    try:
        table = root.create(path, columns)
    except DatasetExists:
        table = _lineage(root, branch, table_key, path, above)
    else:
        failpoint(_CREATED)
        if table.version > above:
            return table
    return root.remember(path, empty_table(table, columns, above=above))


def empty_table(table: Table, columns: pa.Schema, *, above: int) -> Table:
    """Return an empty version with these columns, at least one above, whatever the head holds."""
    deadline = time.monotonic() + wait_seconds(SCHEMA_WRITE_SECONDS)
    pause = _FIRST_PAUSE
    while True:
        try:
            table = table.replace_schema(columns).table
        except (CommitConflict, OutcomeUnknown) as failure:
            # What landed without a reply is an empty version that is never published.
            if time.monotonic() > deadline:
                raise contention_error(table, failure) from failure
            time.sleep(random.uniform(0, pause))  # noqa: S311 - spreads writers
            pause = min(2 * pause, _LONGEST_PAUSE)
            table = table.refresh()
            continue
        failpoint(_EMPTIED)
        if table.version > above:
            return table


def reshape_table(base: Table, dropped: Sequence[str], added: Sequence[pa.Field]) -> Table:
    """Return a version of a table with exactly its rows, but other columns."""
    table = base
    if dropped:
        table = done_exactly(table, lambda on: on.drop_columns(dropped))
        failpoint(_DROPPED)
    if added:
        table = done_exactly(table, lambda on: on.add_columns(added))
        failpoint(_ADDED)
    return table


def redeclare_table(base: Table) -> Table:
    """Return a new version of a table with the same rows, for a changed declaration."""
    table = done_exactly(base, lambda on: on.configure({_CHANGED: new_ulid()}))
    failpoint(_DECLARED)
    return table


def _lineage(
    root: RepositoryRoot, branch: BranchSession, table_key: str, path: str, above: int
) -> Table:
    """Open an existing dataset, at a head onto which the branch may write."""
    start = root.open(path)
    if branch.native is None:
        return start
    own = _head(root, path, branch.native) if start.has_branch(branch.native) else None
    if own is not None:
        start = own
    elif start.version < above:
        # The version that was dropped was another branch's: go on above it, from there.
        heads = [_head(root, path, name) for name in start.branches()]
        start = max(
            [start, *(head for head in heads if head is not None)], key=lambda head: head.version
        )
    entry = TableEntry(
        table_key=table_key,
        table_path=path,
        table_version=start.version,
        table_branch=start.branch,
        row_count=0,
    )
    return branch.lineage(entry)


def _head(root: RepositoryRoot, path: str, native: str) -> Table | None:
    """Open the head of a native branch; None if a crash left one that cannot be opened."""
    try:
        return root.open(path, branch=native)
    except L1Error:
        root.forget(path, native)
        return None
