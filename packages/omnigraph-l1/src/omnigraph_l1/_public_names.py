"""The public names of omnigraph_l1, imported from the modules that define them."""

from omnigraph_l1._conflict_matrix import ConflictFacts, conflict
from omnigraph_l1._dataset.dataset_opener import Caches
from omnigraph_l1._dataset.pinned_dataset import Durability, FragmentFiles, IndexInfo
from omnigraph_l1._lance.lance_failures import classify
from omnigraph_l1._read.version_comparison import Delta
from omnigraph_l1._read.version_history import VersionFile, VersionRecord
from omnigraph_l1._refs.json_refs import JsonRefs, RefStore
from omnigraph_l1._refs.local_backend import directory_lock
from omnigraph_l1._refs.ref_document import Ref
from omnigraph_l1._storage.location import Location, Storage
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._storage.stored_objects import (
    StoredObject,
    first_names,
    list_objects,
    read_object,
    remove_object,
    time_of_store,
)
from omnigraph_l1._table.conflict_retry import retry_conflicts
from omnigraph_l1._table.table import Commit, Table
from omnigraph_l1._table_paths import fnv1a64, table_path, type_hash
from omnigraph_l1._text_encoding import new_ulid
from omnigraph_l1._transaction_kinds import Resolution, TransactionKind
from omnigraph_l1._write.column_indexes import IndexKind
from omnigraph_l1._write.native_refs import BranchInfo, TagInfo, unique_branch_name
from omnigraph_l1._write.row_changes import WrittenChanges
from omnigraph_l1._write.staged_changes import Staged, WriteTarget, WrittenFragments
from omnigraph_l1._write.table_commit import PRIMARY_KEY
from omnigraph_l1._write.version_name_migration import migrate_version_names
from omnigraph_l1._write.version_removal import Removed
from omnigraph_l1.errors import L1Error

__all__ = [
    "PRIMARY_KEY",
    "BranchInfo",
    "Caches",
    "Commit",
    "ConflictFacts",
    "Delta",
    "Durability",
    "FragmentFiles",
    "IndexInfo",
    "IndexKind",
    "JsonRefs",
    "L1Error",
    "Location",
    "Ref",
    "RefStore",
    "Removed",
    "Resolution",
    "Staged",
    "Storage",
    "StoredObject",
    "Table",
    "TagInfo",
    "TransactionKind",
    "VersionFile",
    "VersionRecord",
    "WriteTarget",
    "WrittenChanges",
    "WrittenFragments",
    "classify",
    "conflict",
    "directory_lock",
    "first_names",
    "fnv1a64",
    "list_objects",
    "migrate_version_names",
    "new_ulid",
    "read_object",
    "remove_object",
    "retry_conflicts",
    "run_watched",
    "table_path",
    "time_of_store",
    "type_hash",
    "unique_branch_name",
]
