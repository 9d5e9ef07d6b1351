"""Create and remove the native branches that a graph branch consists of.

Invariant: the log is forked before the catalog, and both before a name refers to them. A native
branch starts with exactly the requested revision. Removal starts with the catalog: Lance refuses
that while another branch starts from it, and then nothing of the branch is removed. The commits of
the branch are archived before.
"""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph_l1.errors import L1Error
from omnigraph_l1.errors import UnknownBranch as NoSuchBranch
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branch.revision_resolver import Revision
from omnigraph_l2._catalog.catalog_state import CatalogState, later_rows
from omnigraph_l2._errors.translating import translate_errors
from omnigraph_l2._model.events import emit
from omnigraph_l2._model.repository_layout import COMMITS, MANIFEST
from omnigraph_l2._store.archived_commits import ArchivedCommits
from omnigraph_l2._store.branch_registry import is_owned_by, run_of
from omnigraph_l2._store.commit_log import CommitLog
from omnigraph_l2._store.manifest_store import load, read_rows
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import CorruptRepository, UnknownBranch

__all__ = ["fork_natives", "keep_history", "owned_tables", "remove_natives"]

_LOG_FORKED = declare("l2.branch.log_forked", "the log has the new native branch")
_CATALOG_FORKED = declare("l2.branch.catalog_forked", "the catalog has it, no pointer names it")
_CATALOG_REMOVED = declare("l2.branch.catalog_removed", "the catalog lost the native branch")
_LOG_REMOVED = declare("l2.branch.log_removed", "the log lost the native branch too")
_TABLES_REMOVED = declare("l2.branch.tables_removed", "so did the tables that it had written to")


def fork_natives(root: RepositoryRoot, log: CommitLog, native: str, start: Revision) -> int:
    """Create the native branches; return the catalog version at which the new one is."""
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
        rows = later_rows(read_rows(table), start.sequence, root.location)
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


def keep_history(root: RepositoryRoot, native: str) -> None:
    """Archive the commits of a branch, or raise; then the branch must not be removed.

    The commits of a damaged branch cannot be read any more. Steps of a run are no commits that
    anybody could come from.
    """
    if run_of(native) is not None:
        return
    try:
        with translate_errors():
            table = root.open(MANIFEST, branch=native)
            ArchivedCommits(root).keep(load(table, root.location).state)
    except (CorruptRepository, UnknownBranch) as error:
        emit("history_not_kept", location=root.location, branch=native, error=str(error))


def remove_natives(root: RepositoryRoot, native: str, tables: Iterable[tuple[str, str]]) -> bool:
    """Remove the native branches as far as possible; return whether all are gone.

    What is left (others may have started from it, or the store may fail) is found by cleaning.
    """
    if not _remove(root, MANIFEST, native):
        return False
    failpoint(_CATALOG_REMOVED)
    gone = [_remove(root, COMMITS, native)]
    failpoint(_LOG_REMOVED)
    gone += root.at_once(lambda each: _remove(root, *each), tables)
    failpoint(_TABLES_REMOVED)
    return all(gone)


def _remove(root: RepositoryRoot, path: str, native: str) -> bool:
    try:
        root.open(path).delete_branch(native)
    except NoSuchBranch:
        return True
    except L1Error as error:
        emit(
            "branch_left_behind", location=root.location, path=path, branch=native, error=str(error)
        )
        return False
    finally:
        root.forget(path, native)
    return True
