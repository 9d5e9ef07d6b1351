"""The batch publish as an operation of the commit loop: versions that were written by other means.

Invariant: a version is published only if it can be opened, and the integrity rules hold for it as
for any other: it is compared with the published version. Without expectations it is published onto
whatever is current.

Invariant: no cleanup removes a version that is being published. One that follows the published
version of its lineage is never removed. Any other may be needed by nothing else: no cleanup that
begins removes anything then, and those at work are waited for before the version is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import attrs

from omnigraph_l2._catalog.catalog_state import CatalogState
from omnigraph_l2._catalog.publish_plan import Change, Intent, TableUpdate
from omnigraph_l2._commit.commit_operation import Prepared
from omnigraph_l2._commit.leases import Pin
from omnigraph_l2._store.branch_registry import is_owned_by
from omnigraph_l2._store.external_versions import check_owner, check_there, complete_update
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import ExpectedVersionMismatch

__all__ = ["BatchPublish"]


@attrs.frozen(kw_only=True)
class BatchPublish:
    """Changes of the catalog that a caller names."""

    root: RepositoryRoot
    intent: Intent
    changes: tuple[Change, ...]
    expected: Mapping[str, int]
    pin: Pin
    outlast_cleanups: Callable[[], None]
    """Wait until no cleanup is running that began before."""

    def lineages(self, _lost: int) -> Collection[str]:
        """Return no names: the tables are written already."""
        return ()

    def prepare(self, state: CatalogState) -> Prepared | None:
        """Check that the versions exist, and complete what the catalog says of them."""
        updates = [each for each in self.changes if isinstance(each, TableUpdate)]
        older = [each for each in updates if not _is_kept(each, state)]
        if older:
            self.pin.hold_back_tables()
            self.outlast_cleanups()
        for update in updates:
            check_owner(update, self.root, state)
            check_there(update, self.root, is_fresh=update in older)
        return Prepared(changes=tuple(complete_update(each, self.root) for each in self.changes))

    def may_retry(self, _mismatch: ExpectedVersionMismatch) -> bool:
        """Return that it may be published onto a newer state, which it is checked on."""
        return True


def _is_kept(update: TableUpdate, state: CatalogState) -> bool:
    """Return whether cleanups keep a version because a state shows it, or one before it."""
    shown = state.tables.get(update.table_key)
    return (
        shown is not None
        and update.table_branch == shown.table_branch
        and is_owned_by(shown.table_branch, state.branch)
        and update.table_version >= shown.table_version
    )
