"""Updates of tables whose versions a caller wrote elsewhere: check them, and complete them.

Invariant: no version is published that cannot be opened, because the table could not be read again.
"""

from __future__ import annotations

import attrs

from omnigraph_l1 import Table, table_path
from omnigraph_l1.errors import BadInput, CorruptDataset, NotFound
from omnigraph_l2._catalog.manifest_rows import version_metadata
from omnigraph_l2._catalog.publish_plan import Change, TableUpdate
from omnigraph_l2._store.repository_root import RepositoryRoot, refuse_auto_cleanup
from omnigraph_l2.errors import InvalidChange

__all__ = ["check_there", "complete_update"]


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


def complete_update(change: Change, root: RepositoryRoot) -> Change:
    """Make an updated version durable, and add what is missing and follows from the rest."""
    if not isinstance(change, TableUpdate):
        return change
    path = table_path(change.table_key)
    table = root.open(path, branch=change.table_branch, version=change.table_version)
    table.make_durable()
    facts = version_metadata(table.manifest_path, is_durable=root.is_durable)
    return attrs.evolve(change, metadata={**facts, **change.metadata})
