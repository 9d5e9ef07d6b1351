"""Making and removing the native branches that a graph branch consists of.

Always: the log is forked before the catalog, and both before anything names them. What a native
branch starts with is exactly the moment that was asked for. Removing starts with the catalog, which
Lance refuses while anything started from it; then nothing that belongs to it is touched. Before
that, the commits of the branch are kept elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph_l1.errors import L1Error
from omnigraph_l1.errors import UnknownBranch as NoSuchBranch
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branches.names import is_owned_by, run_of
from omnigraph_l2._catalog.state import CatalogState, later_rows
from omnigraph_l2._errors.translating import border
from omnigraph_l2._events import emit
from omnigraph_l2._history.kept import KeptCommits
from omnigraph_l2._history.log import GraphLog
from omnigraph_l2._manifest.catalog import load, read_rows
from omnigraph_l2._references.moment import Moment
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import COMMITS, MANIFEST
from omnigraph_l2.errors import CorruptRepository, UnknownBranch

__all__ = ["fork_natives", "keep_history", "owned_tables", "remove_natives"]

_LOG_FORKED = declare("l2.branch.log_forked", "the log has the new native branch")
_CATALOG_FORKED = declare("l2.branch.catalog_forked", "the catalog has it, no pointer names it")
_CATALOG_REMOVED = declare("l2.branch.catalog_removed", "the catalog lost the native branch")
_LOG_REMOVED = declare("l2.branch.log_removed", "the log lost the native branch too")
_TABLES_REMOVED = declare("l2.branch.tables_removed", "so did the tables that it had written to")


def fork_natives(root: Root, log: GraphLog, native: str, start: Moment) -> int:
    """Make the native branches; give the version of the catalog that the new one is at."""
    log.complete(start.newest().state)
    later: list[str] = []
    if start.sequence is not None:
        later = [
            made.commit.graph_commit_id
            for made in start.loaded.state.publishes
            if made.sequence > start.sequence
        ]
    log.fork(native, start.native, through=start.version, without=later)
    failpoint(_LOG_FORKED)
    table = start.loaded.table.fork(native, fresh=True)
    if start.sequence is not None and later:
        rows = later_rows(read_rows(table), start.sequence, root.place)
        table = table.delete_keys("object_id", [row.object_id for row in rows]).table
    failpoint(_CATALOG_FORKED)
    return table.version


def owned_tables(state: CatalogState) -> list[tuple[str, str]]:
    """Name the tables that a branch has published a fork of: path, and native branch."""
    native = state.branch
    if native is None:
        return []
    return [
        (entry.table_path, entry.table_branch)
        for entry in state.tables.values()
        if entry.table_branch is not None and is_owned_by(entry.table_branch, native)
    ]


def keep_history(root: Root, native: str) -> None:
    """See to it that the commits of a branch outlive it, or raise: then it must not go.

    Those of a branch that is damaged nobody can read any more. Steps of a run are no commits that
    anybody could come from.
    """
    if run_of(native) is not None:
        return
    try:
        with border():
            table = root.open(MANIFEST, branch=native)
            KeptCommits(root).keep(load(table, root.place).state)
    except (CorruptRepository, UnknownBranch) as error:
        emit("history_not_kept", place=root.place, branch=native, error=str(error))


def remove_natives(root: Root, native: str, tables: Iterable[tuple[str, str]]) -> bool:
    """Remove the native branches, as far as that goes; tell whether all are gone.

    What is left (others may have started from it, or the store may fail) is found by cleaning.
    """
    if not _removed(root, MANIFEST, native):
        return False
    failpoint(_CATALOG_REMOVED)
    gone = [_removed(root, COMMITS, native)]
    failpoint(_LOG_REMOVED)
    gone += root.at_once(lambda each: _removed(root, *each), tables)
    failpoint(_TABLES_REMOVED)
    return all(gone)


def _removed(root: Root, path: str, native: str) -> bool:
    try:
        root.open(path).delete_branch(native)
    except NoSuchBranch:
        return True
    except L1Error as error:
        emit("branch_left_behind", place=root.place, path=path, branch=native, error=str(error))
        return False
    finally:
        root.forget(path, native)
    return True
