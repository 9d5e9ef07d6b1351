"""The batch publish as an operation of the commit loop: versions that were written by other means.

Invariant: a version is published only if it can be opened, and the integrity rules hold for it as
for any other: it is compared with the published version. Without expectations it is published onto
whatever is current.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import attrs

from omnigraph_l2._catalog.catalog_state import CatalogState
from omnigraph_l2._catalog.publish_plan import Change, Intent
from omnigraph_l2._commit.commit_operation import Prepared
from omnigraph_l2._store.external_versions import check_there, complete_update
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

    def lineages(self, _lost: int) -> Collection[str]:
        """Return no names: the tables are written already."""
        return ()

    def prepare(self, _state: CatalogState) -> Prepared | None:
        """Check that the versions exist, and complete what the catalog says of them."""
        for change in self.changes:
            check_there(change, self.root)
        return Prepared(changes=tuple(complete_update(each, self.root) for each in self.changes))

    def may_retry(self, _mismatch: ExpectedVersionMismatch) -> bool:
        """Return that it may be published onto a newer state, which it is checked on."""
        return True
