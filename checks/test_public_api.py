"""The public names of each package: adding or losing one is a decision, made here."""

from __future__ import annotations

import importlib
import inspect

import pytest
from layout import PACKAGES

PUBLIC: dict[str, set[str]] = {
    "omnigraph_l1": {
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
        "PRIMARY_KEY",
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
        "time_of_store",
        "table_path",
        "type_hash",
        "unique_branch_name",
    },
    "omnigraph_l2": {
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
        "INTERNAL_MANIFEST_SCHEMA_VERSION",
        "MergeKind",
        "MergeResult",
        "MergedTable",
        "NodeType",
        "OmniGraphError",
        "PUBLISHER_RETRY_BUDGET",
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
        "UNRESOLVED",
        "Tag",
        "Tags",
        "Transaction",
        "TransactionKind",
        "VerifyReport",
        "VersionRecord",
        "WriteTarget",
    },
    "omnigraph_l2.reports": {
        "CleanupReport",
        "Finding",
        "MigrateReport",
        "OptimizeOutcome",
        "OptimizeReport",
        "OptimizedTable",
        "RepairAction",
        "RepairReport",
        "Severity",
        "Swept",
    },
    "omnigraph_l2.schema_changes": {
        "AddProperty",
        "AddType",
        "ChangeEnds",
        "ChangeIndexes",
        "ChangeUnique",
        "DropProperty",
        "DropType",
        "EvolveStep",
    },
    "omnigraph_spark": {
        "Graph",
        "OmniGraphSparkError",
        "cause_of",
        "each_batch",
        "SparkTransaction",
        "read_graph",
        "register",
        "session",
        "transaction",
    },
    "omnigraph_spark.jobs": {
        "DIFF_FORMATS",
        "DiffReport",
        "ExportReport",
        "ExportedTable",
        "FORMATS",
        "LoadReport",
        "LoadedTable",
        "diff",
        "export",
        "load",
        "merge",
        "optimize",
        "verify",
    },
    "omnigraph_testing": {
        "Aborted",
        "Answer",
        "AtMoment",
        "AtPoint",
        "AtRequest",
        "Bandwidth",
        "BudgetExceeded",
        "Crash",
        "CrashDeadline",
        "Crashed",
        "CutReply",
        "CutRequest",
        "Decision",
        "Delay",
        "DynamoTable",
        "Effect",
        "Ending",
        "EndlessPredicate",
        "Faults",
        "FaultyS3",
        "FaultyStore",
        "GatewayFailed",
        "Held",
        "Hold",
        "IgnoreConditions",
        "Injected",
        "InvalidHistory",
        "InvalidOption",
        "MissingExtra",
        "LeftFile",
        "NeverKilled",
        "NothingHeld",
        "OmniGraphTestingError",
        "Operation",
        "Outcome",
        "Refuse",
        "Request",
        "Rule",
        "S3Server",
        "S3Store",
        "ServerKind",
        "ServerUnavailable",
        "StaleListing",
        "TruncateReply",
        "TruncateRequest",
        "Twice",
        "UnexpectedEnding",
        "UnusableFunction",
        "WorkerFailed",
        "connect_s3",
        "mark",
        "sample_graph",
        "start_faulty_s3",
        "start_s3",
    },
}


@pytest.mark.parametrize("package", PUBLIC)
def test_the_front_door_shows_exactly_these_names(package: str) -> None:
    """Others rely on each of these names; nothing else is promised."""
    assert set(importlib.import_module(package).__all__) == PUBLIC[package]


@pytest.mark.parametrize("package", PACKAGES)
def test_the_front_door_is_sorted_and_whole(package: str) -> None:
    """``__all__`` has each name once, and each is there."""
    door = importlib.import_module(package)
    assert len(door.__all__) == len(set(door.__all__))
    assert all(hasattr(door, name) for name in door.__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_thing_says_what_it_is(package: str) -> None:
    """Each public class and function has a docstring, and so have its public methods."""
    door = importlib.import_module(package)
    for name in door.__all__:
        thing = getattr(door, name)
        if not (inspect.isclass(thing) or inspect.isroutine(thing)):
            continue
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_") and inspect.isroutine(value):
                    assert inspect.getdoc(value), f"{name}.{member}"
