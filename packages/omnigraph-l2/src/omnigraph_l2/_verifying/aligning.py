"""Bringing the head of a table back to the version that is published.

Always: the version that is published afterwards has exactly the rows of the one before, by metadata
alone, and is the head of its lineage unless somebody wrote meanwhile. Nobody's publish is undone: a
table that moved on is looked at again.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from omnigraph_l1 import new_ulid
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2._catalog.changes import Intent, TableUpdate
from omnigraph_l2._catalog.state import TableEntry
from omnigraph_l2._publishing.turns import Turns, lineage
from omnigraph_l2._storage import Root
from omnigraph_l2._transactions.version_facts import version_metadata
from omnigraph_l2.errors import ExpectedVersionMismatch, TableContention

__all__ = ["align"]

_RESTORED = declare("l2.repair.restored", "the head of a table is what is published, unpublished")

_MESSAGE = "repair: the heads of tables are what is published"
_ATTEMPTS = 10
_TIMEOUT_SECONDS = 60.0


def align(
    root: Root,
    branch: GraphBranch,
    turns: Turns,
    clock: Callable[[], datetime],
    table_keys: tuple[str, ...],
) -> None:
    """Make what is published the head of these tables, and publish that as one commit."""
    hold = branch.hold()
    for lost in range(_ATTEMPTS):
        entries = _behind(root, branch, table_keys)
        if not entries:
            break
        wanted = [lineage(each.table_path, branch.native) for each in entries]
        with turns.take(wanted, lost=lost):
            entries = _behind(root, branch, table_keys)
            if not entries:
                break
            updates = root.at_once(lambda entry: _restored(root, entry), entries)
            failpoint(_RESTORED)
            intent = Intent(
                graph_commit_id=new_ulid(),
                changes=tuple(updates),
                expected={each.table_key: each.table_version for each in entries},
                expects_visible=True,
                created_at=clock(),
                message=_MESSAGE,
            )
            try:
                branch.publish(intent, timeout=_TIMEOUT_SECONDS, hold=hold)
            except ExpectedVersionMismatch:
                continue
    else:
        detail = (
            f"in {_ATTEMPTS} attempts, somebody else had written to one of the tables each time."
        )
        raise TableContention(place=root.place, detail=detail)
    branch.complete_log()


def _behind(root: Root, branch: GraphBranch, table_keys: tuple[str, ...]) -> list[TableEntry]:
    state = branch.catalog.refresh().state
    entries = [state.tables[key] for key in table_keys if key in state.tables]
    return [
        each
        for each in entries
        if root.open(each.table_path, branch=each.table_branch).version != each.table_version
    ]


def _restored(root: Root, entry: TableEntry) -> TableUpdate:
    pinned = root.open(entry.table_path, branch=entry.table_branch, version=entry.table_version)
    table = root.remember(entry.table_path, pinned.restore(entry.table_version).table)
    return TableUpdate(
        table_key=entry.table_key,
        table_version=table.version,
        table_branch=table.branch,
        row_count=entry.row_count,
        metadata=version_metadata(table),
    )
