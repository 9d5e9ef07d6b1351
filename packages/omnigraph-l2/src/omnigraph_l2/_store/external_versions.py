"""Updates of tables whose versions a caller wrote elsewhere: check them, and complete them.

Invariant: no version is published that cannot be opened, or that another branch may take with it
when it is deleted, because the table could not be read again.
"""

from __future__ import annotations

import attrs

from omnigraph_l1 import Table, table_path
from omnigraph_l1.errors import BadInput, CorruptDataset, NotFound
from omnigraph_l2._catalog.catalog_state import CatalogState
from omnigraph_l2._catalog.manifest_rows import version_metadata
from omnigraph_l2._catalog.publish_plan import Change, TableUpdate
from omnigraph_l2._model.repository_layout import MANIFEST
from omnigraph_l2._store.branch_registry import has_unique_ending, is_owned_by, run_of, with_parents
from omnigraph_l2._store.repository_root import RepositoryRoot, refuse_auto_cleanup
from omnigraph_l2.errors import InvalidChange

__all__ = ["check_owner", "check_there", "complete_update"]


def check_there(update: TableUpdate, root: RepositoryRoot, *, is_fresh: bool) -> None:
    """Raise if an update names a version that cannot be opened.

    ``is_fresh`` says to read what is in the store, without the caches of an open handle.
    """
    path, native, version = table_path(update.table_key), update.table_branch, update.table_version
    try:
        table = (
            Table.open(root.child(path), branch=native, version=version)
            if is_fresh
            else root.open(path, branch=native, version=version)
        )
    except (NotFound, BadInput, CorruptDataset) as error:
        reason = f"its version {version} cannot be opened. {error}"
        raise InvalidChange(table_key=update.table_key, reason=reason) from error
    refuse_auto_cleanup(table)


def check_owner(update: TableUpdate, root: RepositoryRoot, state: CatalogState) -> None:
    """Raise if a version belongs to another branch of the graph: deleting that would remove it.

    It does so still while that branch is being deleted, when the catalog has forgotten it.
    """
    native, shown = update.table_branch, state.tables.get(update.table_key)
    if native is None or (shown is not None and shown.table_branch == native):
        return
    natives = root.open(MANIFEST).branches()
    own = {state.branch, *with_parents([state.branch], natives)}
    if any(is_owned_by(native, each) for each in own):
        return
    owner = next((each for each in sorted(natives) if is_owned_by(native, each)), None)
    if owner is None and (has_unique_ending(native) or run_of(native) is not None):
        owner = native
    if owner is not None:
        reason = f"its version is one of branch {owner}, and goes when that is deleted; merge it"
        raise InvalidChange(table_key=update.table_key, reason=reason)


def complete_update(change: Change, root: RepositoryRoot) -> Change:
    """Make an updated version durable, and add what follows from it.

    Raise if it has another number of rows than the update says.
    """
    if not isinstance(change, TableUpdate):
        return change
    path = table_path(change.table_key)
    table = root.open(path, branch=change.table_branch, version=change.table_version)
    if table.count() != change.row_count:
        reason = f"its row_count is {change.row_count}, and the version has {table.count()} rows"
        raise InvalidChange(table_key=change.table_key, reason=reason)
    table.make_durable()
    facts = version_metadata(table.manifest_path, is_durable=root.is_durable)
    return attrs.evolve(change, metadata={**change.metadata, **facts})
