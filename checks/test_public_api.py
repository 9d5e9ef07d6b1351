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
    },
    "omnigraph_l2": {
        "AddProperty",
        "AddType",
        "Branch",
        "Branches",
        "ChangeEnds",
        "ChangeIndexes",
        "ChangeUnique",
        "CleanupReport",
        "ChangeSet",
        "ChangeTarget",
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
        "INTERNAL_MANIFEST_SCHEMA_VERSION",
        "MergeKind",
        "MergeResult",
        "MergedTable",
        "NodeType",
        "OmniGraphError",
        "OptimizeOutcome",
        "OptimizeReport",
        "OptimizedTable",
        "PUBLISHER_RETRY_BUDGET",
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
        "UNRESOLVED",
        "Tag",
        "Tags",
        "Transaction",
        "TransactionKind",
        "VerifyReport",
        "VersionRecord",
        "WriteTarget",
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
        "AtFileOperation",
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
        "DiskModel",
        "EXT4_LIKE_DISK",
        "Effect",
        "Ending",
        "EndlessPredicate",
        "Faults",
        "FaultyRefs",
        "FaultyS3",
        "FaultyStore",
        "GatewayFailed",
        "Held",
        "Hold",
        "IgnoreConditions",
        "Injected",
        "InvalidHistory",
        "InvalidOption",
        "LeftFile",
        "NeverKilled",
        "NothingHeld",
        "OmniGraphTestingError",
        "Operation",
        "Outcome",
        "PowerCut",
        "PowerCuts",
        "Refuse",
        "Request",
        "Rule",
        "S3Server",
        "S3Store",
        "STRICT_DISK",
        "ServerKind",
        "ServerUnavailable",
        "StaleListing",
        "Trace",
        "TracingUnavailable",
        "TruncateReply",
        "TruncateRequest",
        "Twice",
        "UnexpectedEnding",
        "Untraceable",
        "UnusableFunction",
        "WorkerFailed",
        "mark",
        "sample_graph",
        "start_faulty_s3",
        "start_s3",
        "tracing_problem",
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
