"""What an evolve does to datasets, before it publishes: make them, empty them, change columns.

Always: nobody sees it yet, and what is already published stays as it is. A dataset that is there,
because somebody died or a type was dropped, is taken up: its next version is empty and has the
wanted columns, so that nothing of what it held comes back.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import pyarrow as pa

from omnigraph_l1 import Table, new_ulid, table_path
from omnigraph_l1.errors import CommitConflict, DatasetExists, L1Error
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2._catalog.state import TableEntry
from omnigraph_l2._storage import Root
from omnigraph_l2._transactions.exact import done_exactly

__all__ = ["begun", "declared", "emptied", "reshaped"]

_CREATED = declare("l2.evolve.created", "the dataset of a new type is made, and nobody can see it")
_EMPTIED = declare("l2.evolve.emptied", "a dataset is empty and has the columns that are wanted")
_DROPPED = declare("l2.evolve.dropped", "columns are gone from a table, and nobody can see it")
_ADDED = declare("l2.evolve.added", "columns are added to a table, and nobody can see it")
_DECLARED = declare("l2.evolve.declared", "a table has a version for its new declaration, unseen")

_CHANGED = "omnigraph:declared"

_PATIENCE_SECONDS = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.2


def begun(
    root: Root, branch: GraphBranch, table_key: str, columns: pa.Schema, *, above: int
) -> Table:
    """Give an empty version of a table that a branch does not have, above a version."""
    path = table_path(table_key)
    try:
        table = root.create(path, columns)
    except DatasetExists:
        table = _lineage(root, branch, table_key, path, above)
    else:
        failpoint(_CREATED)
        if table.version > above:
            return table
    return root.remember(path, emptied(table, columns, above=above))


def emptied(table: Table, columns: pa.Schema, *, above: int) -> Table:
    """Give an empty version with these columns, at least one above, whatever the head holds."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    pause = _FIRST_PAUSE
    while True:
        try:
            table = table.replace_schema(columns).table
        except CommitConflict:
            if time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0, pause))  # noqa: S311 - spreads writers
            pause = min(2 * pause, _LONGEST_PAUSE)
            table = table.refresh()
            continue
        failpoint(_EMPTIED)
        if table.version > above:
            return table


def reshaped(base: Table, dropped: Sequence[str], added: Sequence[pa.Field]) -> Table:
    """Give the version of a table without some columns, and with others: exactly its rows."""
    table = base
    if dropped:
        table = done_exactly(table, lambda on: on.drop_columns(dropped))
        failpoint(_DROPPED)
    if added:
        table = done_exactly(table, lambda on: on.add_columns(added))
        failpoint(_ADDED)
    return table


def declared(base: Table) -> Table:
    """Give a new version of a table with the same rows, for a declaration that has changed."""
    table = done_exactly(base, lambda on: on.configure({_CHANGED: new_ulid()}))
    failpoint(_DECLARED)
    return table


def _lineage(root: Root, branch: GraphBranch, table_key: str, path: str, above: int) -> Table:
    """Open a dataset that is there, at a head onto which the branch may write."""
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


def _head(root: Root, path: str, native: str) -> Table | None:
    """Open the head of a native branch; None where a crash left something that does not open."""
    try:
        return root.open(path, branch=native)
    except L1Error:
        root.forget(path, native)
        return None
