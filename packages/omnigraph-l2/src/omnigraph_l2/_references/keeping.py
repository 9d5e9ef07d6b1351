"""Seeing to it that a moment on which something lasting stands is not cleaned up.

Always: it is asked after what lasts is written (a fork, a tag), and what cannot be relied on is
taken back then. A moment that was read as a head under a lease is safe as long as the lease is. On
an older one it is waited until nobody cleans up, who may not have seen what stands on it; then what
the moment needs is looked at. So either the cleanup has seen it, or this finds what it removed.
"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import Final

from omnigraph_l1 import Table
from omnigraph_l1.errors import L1Error
from omnigraph_l1.errors import UnknownVersion as NoSuchVersion
from omnigraph_l2._catalog.state import TableEntry
from omnigraph_l2._leases import Leases
from omnigraph_l2._leases.standing import is_being_cleaned, store_time
from omnigraph_l2._references.moment import Moment
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import MANIFEST
from omnigraph_l2.errors import SnapshotExpired, TableContention

__all__ = ["check_kept"]

_PATIENCE_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.05


def check_kept(root: Root, leases: Leases, moment: Moment) -> None:
    """Raise ``SnapshotExpired`` where something is gone that a moment needs."""
    hold = moment.hold
    if hold is not None and hold.generation is not None and hold.is_of_head:
        hold.check()
        return
    _outlast_cleanups(root, leases)
    versions = root.open(MANIFEST, branch=moment.native).versions()
    if moment.version not in versions:
        raise SnapshotExpired(branch=moment.branch, version=moment.version)
    now = moment.newest().state.tables
    older = [each for key, each in moment.state().tables.items() if now.get(key) != each]
    root.at_once(lambda entry: _check_there(root, entry), older)


def _outlast_cleanups(root: Root, leases: Leases) -> None:
    with suppress(L1Error):
        leases.renew()  # it says what time it is there; else the clock of this machine has to do
    began = time.monotonic()
    now = store_time(root, leases.name) or datetime.now(timezone.utc)
    while is_being_cleaned(root, now + timedelta(seconds=time.monotonic() - began)):
        if time.monotonic() - began > _PATIENCE_SECONDS:
            detail = "somebody cleans up, for a minute now. Try again when that has ended"
            raise TableContention(place=root.place, detail=detail)
        time.sleep(_POLL_SECONDS)


def _check_there(root: Root, entry: TableEntry) -> None:
    """Look at what is in the store, and not at what an open handle remembers."""
    try:
        Table.open(
            root.child(entry.table_path), branch=entry.table_branch, version=entry.table_version
        )
    except NoSuchVersion as error:
        raise SnapshotExpired(
            table_key=entry.table_key, table_version=entry.table_version
        ) from error
