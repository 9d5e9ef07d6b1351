"""One Lance dataset: the front door of this folder.

``pinned`` is the state that all others take. ``wholeness`` and ``opening`` make it, ``creating``
makes the dataset. ``fitting``, ``staging``, ``deleting``, ``shipping`` and ``changing`` prepare
changes that nobody sees; ``outcomes``, ``committing``, ``merging`` and ``restoring`` make them
visible and prove on what; ``flushing`` brings them to the platter. ``reading``, ``delta``,
``refs``, ``upkeep`` and ``indexing`` are what their names say. ``table`` only delegates.
"""

from omnigraph_l1._table.changing import WrittenChanges
from omnigraph_l1._table.delta import Delta
from omnigraph_l1._table.history import VersionRecord
from omnigraph_l1._table.indexing import IndexInfo, IndexKind
from omnigraph_l1._table.listing import (
    StoredObject,
    VersionFile,
    list_objects,
    remove_object,
    time_of_store,
)
from omnigraph_l1._table.merging import PRIMARY_KEY
from omnigraph_l1._table.naming import migrate_version_names
from omnigraph_l1._table.objects import first_names, read_object
from omnigraph_l1._table.opening import Caches
from omnigraph_l1._table.pinned import Durability
from omnigraph_l1._table.reading import FragmentFiles
from omnigraph_l1._table.refs import BranchInfo, TagInfo, unique_branch_name
from omnigraph_l1._table.retrying import retry_conflicts
from omnigraph_l1._table.shipping import WriteTarget, WrittenFragments
from omnigraph_l1._table.staging import Staged
from omnigraph_l1._table.table import Commit, Table
from omnigraph_l1._table.upkeep import Removed

__all__ = [
    "PRIMARY_KEY",
    "BranchInfo",
    "Caches",
    "Commit",
    "Delta",
    "Durability",
    "FragmentFiles",
    "IndexInfo",
    "IndexKind",
    "Removed",
    "Staged",
    "StoredObject",
    "Table",
    "TagInfo",
    "VersionFile",
    "VersionRecord",
    "WriteTarget",
    "WrittenChanges",
    "WrittenFragments",
    "first_names",
    "list_objects",
    "migrate_version_names",
    "read_object",
    "remove_object",
    "retry_conflicts",
    "time_of_store",
    "unique_branch_name",
]
