"""Telling data that was cleaned up under a snapshot from data that is damaged.

Always: what is damaged is never told as expired: only where the version is gone, is it that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from omnigraph_l1 import Table
from omnigraph_l1.errors import L1Error
from omnigraph_l1.errors import UnknownVersion as NoSuchVersion
from omnigraph_l2._catalog.state import TableEntry
from omnigraph_l2._errors.translating import table_border
from omnigraph_l2._storage import Root
from omnigraph_l2.errors import CorruptRepository, SnapshotExpired, StorageError, UnknownBranch

__all__ = ["expiring"]


@contextmanager
def expiring(root: Root, entry: TableEntry) -> Iterator[None]:
    """Raise ``SnapshotExpired`` where the version that is read was cleaned up meanwhile."""
    try:
        with table_border(entry.table_key):
            yield
    except (CorruptRepository, StorageError, UnknownBranch) as error:
        if _is_gone(root, entry):
            raise SnapshotExpired(
                table_key=entry.table_key, table_version=entry.table_version
            ) from error
        raise


def _is_gone(root: Root, entry: TableEntry) -> bool:
    """Look at what is there, and not at what an open handle remembers."""
    native = entry.table_branch
    try:
        # A branch that is being deleted loses its name first, and its files one by one.
        if native is not None and not root.open(entry.table_path).has_branch(native):
            return True
        Table.open(
            root.child(entry.table_path),
            branch=native,
            version=entry.table_version,
            durability=root.durability,
        )
    except NoSuchVersion:
        return True
    except L1Error:
        return False
    return False
