"""What is looked at when a repository is opened, and before it is written to.

Always: opening reads only. Before the first write the store is probed and the catalog is brought to
our internal schema version; nobody publishes while the original program changes the schema.
"""

from __future__ import annotations

from omnigraph_l1.errors import DatasetNotFound, NotADataset
from omnigraph_l2._branches.pointers import MAIN, Pointers
from omnigraph_l2._creating import was_begun
from omnigraph_l2._manifest.catalog import Catalog, Loaded
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import MANIFEST, ORIGINAL_SCHEMA, SCHEMA_LOCK_BRANCH
from omnigraph_l2.errors import RepositoryNotFound, SchemaChangeInProgress

__all__ = ["check_may_publish", "opened"]

_FIRST = 1
"""The version of a dataset that does not say yet what decides its versions."""


def opened(root: Root, catalog: Catalog, pointers: Pointers) -> Loaded:
    """Read the catalog of a repository, or tell that there is none."""
    try:
        loaded = catalog.refresh()
    except DatasetNotFound as error:
        raise RepositoryNotFound(place=root.place, found="no catalog there") from error
    except NotADataset as error:
        raise RepositoryNotFound(place=root.place, found=error.found) from error
    begun_only = was_begun(loaded.table) and not loaded.state.publishes
    if begun_only and pointers.get(MAIN) is None:
        if loaded.table.version > _FIRST:
            loaded.table.check_version_store()  # which keeps the pointers, too
        found = "a creation that was never finished; call Repository.init again"
        raise RepositoryNotFound(place=root.place, found=found)
    return loaded


def check_may_publish(root: Root) -> None:
    """Raise while the original program changes the schema."""
    if root.holds_file(ORIGINAL_SCHEMA) and root.open(MANIFEST).has_branch(SCHEMA_LOCK_BRANCH):
        raise SchemaChangeInProgress(place=root.place)
