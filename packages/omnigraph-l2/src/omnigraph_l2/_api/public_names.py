"""The public names of omnigraph_l2, imported from the modules that define them.

Reports and the steps of a schema change are in ``omnigraph_l2.reports`` and
``omnigraph_l2.schema_changes``, errors in ``omnigraph_l2.errors``.
"""

from omnigraph_l1 import Durability, TransactionKind, VersionRecord
from omnigraph_l2._api.branches import Branch, Branches
from omnigraph_l2._api.repository import Repository
from omnigraph_l2._api.runs import Runs
from omnigraph_l2._api.tags import Tags
from omnigraph_l2._branch.change_feed import ChangeSet
from omnigraph_l2._branch.diff_parts import DiffPart
from omnigraph_l2._branch.graph_diff import Diff, TableChange, TableDiff
from omnigraph_l2._branch.read_targets import Fragment, ReadTarget
from omnigraph_l2._branch.snapshot import Snapshot
from omnigraph_l2._catalog.catalog_state import TableEntry
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._catalog.publish_plan import RegisterTable, TableTombstone, TableUpdate
from omnigraph_l2._commit.publisher import PUBLISHER_RETRY_BUDGET
from omnigraph_l2._evolve.evolve_steps import EvolvePlan
from omnigraph_l2._maintenance.verify_report import VerifyReport
from omnigraph_l2._merge.merge_result import UNRESOLVED, MergedTable, MergeKind, MergeResult
from omnigraph_l2._model.graph_schema import EdgeType, GraphSchema, NodeType
from omnigraph_l2._runs.run import Run
from omnigraph_l2._store.migrations import INTERNAL_MANIFEST_SCHEMA_VERSION
from omnigraph_l2._store.run_registry import RunStatus
from omnigraph_l2._store.tag_records import Tag
from omnigraph_l2._transaction.change_target import ChangeTarget, StagedChange
from omnigraph_l2._transaction.shared_work import SharedWork
from omnigraph_l2._transaction.transaction import CommitOutcome, Transaction
from omnigraph_l2._transaction.write_target import Staged, WriteTarget
from omnigraph_l2.errors import OmniGraphError

__all__ = [
    "INTERNAL_MANIFEST_SCHEMA_VERSION",
    "PUBLISHER_RETRY_BUDGET",
    "UNRESOLVED",
    "Branch",
    "Branches",
    "ChangeSet",
    "ChangeTarget",
    "CommitOutcome",
    "Diff",
    "DiffPart",
    "Durability",
    "EdgeType",
    "EvolvePlan",
    "Fragment",
    "GraphCommit",
    "GraphSchema",
    "MergeKind",
    "MergeResult",
    "MergedTable",
    "NodeType",
    "OmniGraphError",
    "ReadTarget",
    "RegisterTable",
    "Repository",
    "Run",
    "RunStatus",
    "Runs",
    "SharedWork",
    "Snapshot",
    "Staged",
    "StagedChange",
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
