"""One Lance dataset at a time, done right. Its errors are in ``omnigraph_l1.errors``."""

from omnigraph_l1._conflicts import ConflictFacts, TransactionKind, conflict
from omnigraph_l1._lance.failures import classify
from omnigraph_l1._names import fnv1a64, table_path, type_hash
from omnigraph_l1._places import Place, Storage
from omnigraph_l1._refs import JsonRefs, Ref, RefStore, directory_lock
from omnigraph_l1._resolution import Resolution
from omnigraph_l1._table import (
    PRIMARY_KEY,
    BranchInfo,
    Caches,
    Commit,
    Delta,
    Durability,
    FragmentFiles,
    IndexInfo,
    IndexKind,
    Removed,
    Staged,
    StoredObject,
    Table,
    TagInfo,
    VersionFile,
    VersionRecord,
    WriteTarget,
    WrittenChanges,
    WrittenFragments,
    first_names,
    list_objects,
    read_object,
    remove_object,
    unique_branch_name,
)
from omnigraph_l1._ulid import new_ulid
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
    "Place",
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
    "new_ulid",
    "read_object",
    "remove_object",
    "table_path",
    "type_hash",
    "unique_branch_name",
]
