"""All public names of omnigraph_l2, imported from where they are.

Always: the front door takes each from here, at the first use of one: this module brings Lance and
Arrow with it, which take a second to import, and ``omnigraph --help`` needs neither.
"""

from omnigraph_l1 import Durability, TransactionKind, VersionRecord
from omnigraph_l2._branches.branches import Branch, Branches
from omnigraph_l2._catalog.changes import RegisterTable, TableTombstone, TableUpdate
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._catalog.state import TableEntry
from omnigraph_l2._differences import ChangeSet, Diff, DiffPart, TableChange, TableDiff
from omnigraph_l2._evolving import (
    AddProperty,
    AddType,
    ChangeEnds,
    ChangeIndexes,
    ChangeUnique,
    DropProperty,
    DropType,
    EvolvePlan,
    EvolveStep,
)
from omnigraph_l2._maintenance import CleanupReport, OptimizedTable, OptimizeReport, Swept
from omnigraph_l2._maintenance import Outcome as OptimizeOutcome
from omnigraph_l2._manifest.migrating import MigrateReport
from omnigraph_l2._manifest.migrations import INTERNAL_MANIFEST_SCHEMA_VERSION
from omnigraph_l2._merging.values import UNRESOLVED, MergedTable, MergeKind, MergeResult
from omnigraph_l2._publishing.publisher import PUBLISHER_RETRY_BUDGET
from omnigraph_l2._references.tag_refs import Tag
from omnigraph_l2._references.tags import Tags
from omnigraph_l2._repository import Repository
from omnigraph_l2._runs import Run, Runs, RunStatus
from omnigraph_l2._schema import EdgeType, GraphSchema, NodeType
from omnigraph_l2._snapshots import Fragment, ReadTarget, Snapshot
from omnigraph_l2._transactions.changing import ChangeTarget, StagedChange
from omnigraph_l2._transactions.shipping import Staged, WriteTarget
from omnigraph_l2._transactions.staging import SharedWork
from omnigraph_l2._transactions.transaction import Transaction
from omnigraph_l2._verifying import Finding, Severity, VerifyReport
from omnigraph_l2._verifying.repairing import RepairAction, RepairReport

__all__ = [
    "INTERNAL_MANIFEST_SCHEMA_VERSION",
    "PUBLISHER_RETRY_BUDGET",
    "UNRESOLVED",
    "AddProperty",
    "AddType",
    "Branch",
    "Branches",
    "ChangeEnds",
    "ChangeIndexes",
    "ChangeSet",
    "ChangeTarget",
    "ChangeUnique",
    "CleanupReport",
    "Diff",
    "DiffPart",
    "DropProperty",
    "DropType",
    "Durability",
    "EdgeType",
    "EvolvePlan",
    "EvolveStep",
    "Finding",
    "Fragment",
    "GraphCommit",
    "GraphSchema",
    "MergeKind",
    "MergeResult",
    "MergedTable",
    "MigrateReport",
    "NodeType",
    "OptimizeOutcome",
    "OptimizeReport",
    "OptimizedTable",
    "ReadTarget",
    "RegisterTable",
    "RepairAction",
    "RepairReport",
    "Repository",
    "Run",
    "RunStatus",
    "Runs",
    "Severity",
    "SharedWork",
    "Snapshot",
    "Staged",
    "StagedChange",
    "Swept",
    "TableChange",
    "TableDiff",
    "TableEntry",
    "TableTombstone",
    "TableUpdate",
    "Tag",
    "Tags",
    "Transaction",
    "TransactionKind",
    "VerifyReport",
    "VersionRecord",
    "WriteTarget",
]
