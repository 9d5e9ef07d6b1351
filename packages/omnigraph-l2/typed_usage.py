"""How omnigraph-l2 is used, for the type checker: each line must mean what it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from lance import LanceDataset

from omnigraph_l2 import (
    INTERNAL_MANIFEST_SCHEMA_VERSION,
    PUBLISHER_RETRY_BUDGET,
    UNRESOLVED,
    Branch,
    Branches,
    ChangeSet,
    Diff,
    DiffPart,
    Durability,
    EdgeType,
    EvolvePlan,
    Fragment,
    GraphCommit,
    GraphSchema,
    MergedTable,
    MergeKind,
    MergeResult,
    NodeType,
    OmniGraphError,
    ReadTarget,
    RegisterTable,
    Repository,
    Run,
    Runs,
    RunStatus,
    Snapshot,
    Staged,
    TableChange,
    TableDiff,
    TableEntry,
    TableTombstone,
    TableUpdate,
    Tag,
    Tags,
    Transaction,
    TransactionKind,
    VerifyReport,
    VersionRecord,
    WriteTarget,
)
from omnigraph_l2.errors import (
    CommitOutcomeUnknown,
    Conflict,
    DanglingEdges,
    DataProblem,
    ExpectedVersionMismatch,
    ForeignRepository,
    InvalidData,
    MergeConflict,
    MergeConflictKind,
    MergeConflicts,
    MissingPackage,
    OutcomeUnknown,
    UpgradeRequired,
)
from omnigraph_l2.interop import (
    IndexedGraph,
    duckdb_views,
    to_networkx,
    to_rustworkx,
    view_names,
)
from omnigraph_l2.namespace import GraphNamespace
from omnigraph_l2.reports import (
    CleanupReport,
    Finding,
    MigrateReport,
    OptimizedTable,
    OptimizeOutcome,
    OptimizeReport,
    RepairAction,
    RepairReport,
    Severity,
    Swept,
)
from omnigraph_l2.schema_changes import (
    AddProperty,
    AddType,
    ChangeEnds,
    ChangeIndexes,
    ChangeUnique,
    DropProperty,
    DropType,
    EvolveStep,
)


def declare() -> GraphSchema:
    """Types, and what follows from them."""
    person: NodeType = NodeType("Person", {"name": pa.string()}, required=["name"])
    knows: EdgeType = EdgeType("Knows", "Person", "Person", {"since": pa.date32()})
    schema: GraphSchema = GraphSchema(nodes=[person], edges=[knows])
    declared: NodeType | EdgeType = schema["node:Person"]
    columns: pa.Schema = declared.arrow_schema
    required: tuple[str, ...] = person.required
    properties: Mapping[str, pa.DataType] = knows.properties
    ends: tuple[str | None, str | None] = (knows.source, knows.target)
    del columns, required, properties, ends
    return schema


def make_and_open(location: str, options: Mapping[str, str]) -> Repository:
    """Repositories, and their end."""
    with Repository.init(location, declare(), storage_options=options, actor="ann") as made:
        made.flush()
    repository: Repository = Repository.open(location, durability=Durability.FULL)
    uri: str = repository.uri
    again: Repository = Repository.open(uri, durability="none", log_each_commit=True)
    again.close()
    return repository


def transact(repository: Repository, rows: pa.Table, reader: pa.RecordBatchReader) -> str | None:
    """A transaction from end to end."""
    with repository.transaction(
        "main", actor="ann", message="load", operation_hash="1", check_edges=False, timeout=5.0
    ) as tx:
        began: Transaction = tx
        tx.append("node:Person", rows)
        tx.append("node:Person", reader)
        tx.upsert("node:Person", [{"id": "a", "name": "Ann"}])
        tx.overwrite("edge:Knows", [])
        tx.delete("node:Person", "name = 'Bob'")
        tx.delete("node:Person", ids=["b"])
        read: pa.Table = tx.read("node:Person", columns=["name"], filter="id = 'a'")
        batches: pa.RecordBatchReader = tx.scan("node:Person")
        tx.expect("edge:Knows")
        tx.expect("edge:Knows", 7)
        found: Snapshot = tx.snapshot
        repeats: bool = tx.is_repeat
        commit_id: str = tx.commit_id
    commit: GraphCommit | None = began.commit
    del read, batches, found, repeats, commit_id
    return None if commit is None else commit.message


def read_elsewhere(snapshot: Snapshot) -> int:
    """A table that other processes read, part by part."""
    target: ReadTarget = snapshot.share("node:Person")
    record: VersionRecord = next(snapshot.history("node:Person", limit=1))
    kind: TransactionKind | None = record.kind
    parts: tuple[Fragment, ...] = target.fragments()
    matching: Mapping[int, int] | None = target.matches_by_index("id = 'a'", 100)
    batches: pa.RecordBatchReader = target.scan(
        ["id"], "id > 'a'", fragments=[part.number for part in parts], batch_size=1000
    )
    schema: pa.Schema = target.schema
    del kind, matching, batches, schema
    return target.count


def write_elsewhere(repository: Repository, data: Sequence[pa.Table]) -> int:
    """Rows that other processes write, in a function that may run twice."""

    def load(tx: Transaction) -> int:
        target: WriteTarget = tx.stage("node:Person")
        parts: list[Staged] = [target.write(each) for each in data]
        tx.append_staged("node:Person", parts)
        size: int = sum(part.size_bytes for part in parts)
        del size
        return sum(part.rows for part in parts)

    rows: int = repository.retry(load, "main", attempts=3, message="from elsewhere")
    return rows


def look(repository: Repository, moment: datetime) -> list[GraphCommit]:
    """Snapshots of every kind, and the log."""
    now: Snapshot = repository.snapshot()
    old: Snapshot = repository.snapshot("main", as_of=moment)
    entry: TableEntry = repository.snapshot(version=3).tables["node:Person"]
    numbers: tuple[int, int, str | None] = (
        entry.table_version,
        entry.row_count,
        entry.table_branch,
    )
    dataset: LanceDataset = now.dataset(entry.table_key)
    rows: pa.Table = now.find("node:Person", ["a"], columns=["name"])
    fitting: pa.RecordBatchReader = now.fit_rows("node:Person", rows, may_lack_nullable=True)
    rows = fitting.read_all()
    batches: pa.RecordBatchReader = now.scan("node:Person", filter="id > 'a'", batch_size=100)
    schema: GraphSchema = old.schema
    head: GraphCommit | None = old.commit
    commit: GraphCommit = repository.commit("01H" if head is None else head.graph_commit_id)
    made: tuple[str | None, datetime, int] = (
        commit.parent_commit_id,
        commit.created_at,
        commit.manifest_version,
    )
    del numbers, dataset, rows, batches, schema, made
    return repository.log("main", limit=10)


def publish(repository: Repository) -> GraphCommit | None:
    """The batch publisher."""
    register: RegisterTable = RegisterTable(table_key="node:A", table_path="nodes/af63dc4c8601ec8c")
    update: TableUpdate = TableUpdate(table_key="node:A", table_version=1, row_count=0)
    drop: TableTombstone = TableTombstone(table_key="node:B", table_version=4)
    return repository.publish(
        [register, update, drop], branch="main", expected_table_versions={"node:B": 3}, actor="ann"
    )


def branch(repository: Repository, snapshot: Snapshot) -> list[str]:
    """Branches."""
    branches: Branches = repository.branches
    made: Branch = branches.create("what-if", source=snapshot)
    same: Branch = branches.get(made.name)
    head: tuple[int, str | None] = (same.manifest_version, same.head_commit_id)
    branches.delete("what-if", force=True)
    del head
    return [each.name for each in branches.list()]


def run(repository: Repository) -> GraphCommit | None:
    """A run, from its begin to its end."""
    runs: Runs = repository.runs
    begun: Run = runs.begin("main", operation_hash="import 1", actor="ann")
    with begun.transaction(message="a step") as tx:
        tx.append("node:Person", [{"id": "z", "name": "Zoe"}])
    seen: Snapshot = begun.snapshot()
    status: RunStatus = runs.get(begun.run_id).refresh().status
    if status is RunStatus.FAILED:
        reason: str | None = begun.reason
        raise RuntimeError(reason)
    running: list[Run] = runs.list(RunStatus.RUNNING)
    for other in running[1:]:
        other.abort()
    if not seen.tables:
        begun.fail("there is nothing in it")
    return begun.publish("import", timeout=10.0)


def evolve(repository: Repository, schema: GraphSchema) -> GraphCommit | None:
    """Look at the plan, then apply it."""
    shown: EvolvePlan = repository.plan_evolution(schema, branch="main")
    plan: EvolvePlan = repository.evolve(schema, dry_run=True)
    keys: list[str] = [step.table_key for step in plan.steps]
    for step in shown.steps:
        told: str = _told(step)
        keys.append(told)
    return repository.evolve(schema, message=f"changes {keys}")


def _told(step: EvolveStep) -> str:
    """Every step is one of these, and nothing else."""
    match step:
        case AddProperty() | DropProperty():
            return step.name
        case AddType() | DropType() | ChangeEnds():
            return step.table_key
        case ChangeUnique():
            return ", ".join((*step.added, *step.removed))
        case ChangeIndexes():
            return ", ".join(step.indexes)


def tag(repository: Repository) -> list[str]:
    """Name commits, and go back to them."""
    tags: Tags = repository.tags
    made: Tag = tags.create("v1", source="main", message="as delivered")
    again: Tag = tags.get(made.name)
    snapshot: Snapshot = repository.snapshot(tag=again.name)
    repository.branches.create("from-v1", source=snapshot)
    tags.delete("v1")
    return [each.graph_commit_id for each in tags.list()]


def look_after(repository: Repository) -> bool:
    """See whether it is whole, and mend it."""
    report: VerifyReport = repository.verify(tables=["node:Person"], dangling_edges=True)
    findings: tuple[Finding, ...] = report.findings
    worst: Severity | None = findings[0].severity if findings else None
    done: RepairReport = repository.repair(dry_run=False)
    actions: tuple[RepairAction, ...] = done.actions
    older: MigrateReport = repository.migrate(dry_run=True)
    oldest: int = min(older.found.values(), default=older.supported)
    return (
        oldest == older.supported
        and worst is not Severity.ERROR
        and all(each.done for each in actions)
    )


def handle(error: OmniGraphError) -> str:
    """Distinguish errors without reading messages."""
    match error:
        case ExpectedVersionMismatch():
            versions: tuple[int, int] = (error.expected, error.actual)
            return f"{error.table_key} {versions}"
        case DanglingEdges():
            missing: tuple[str, ...] = error.missing
            return ", ".join(missing)
        case InvalidData():
            problems: tuple[DataProblem, ...] = error.problems
            return problems[0].column
        case CommitOutcomeUnknown():
            return error.commit_id
        case Conflict():
            return f"{error.kind}, after {PUBLISHER_RETRY_BUDGET} more tries"
        case _:
            return error.kind


def may_have_happened(error: OutcomeUnknown) -> str:
    """Say where to look."""
    return f"{error.location}: {error.detail}"


def is_foreign(error: ForeignRepository) -> tuple[str, ...]:
    """Return what was found in a repository of the original program."""
    files: tuple[str, ...] = error.files
    datasets: tuple[str, ...] = error.datasets
    return (error.location, *files, *datasets)


def is_too_new(error: UpgradeRequired) -> bool:
    """Show what this release knows."""
    known: int = INTERNAL_MANIFEST_SCHEMA_VERSION
    return error.found > known


def compare(repo: Repository, before: Snapshot) -> tuple[int, str | None]:
    """What differs between two moments, and what each commit changed."""
    diff: Diff = repo.diff(before, "main", tables=["node:Person"])
    tables: Mapping[str, TableDiff] = diff.tables
    total: int = sum(each.inserted + each.updated + each.deleted for each in tables.values())
    lost: set[str] = {name for each in tables.values() for name in each.removed_properties}
    added: bool = any(each.change is TableChange.ADDED for each in tables.values())
    rows: pa.RecordBatchReader = diff.rows("node:Person")
    parts: tuple[DiffPart, ...] = diff.share("node:Person", rows_of_a_part=10)
    some: list[pa.RecordBatchReader] = [part.rows(["name"]) for part in parts]
    beginning: Diff = repo.diff(None, "main")
    del some, beginning
    cursor: str | None = None
    feed: Iterator[ChangeSet] = repo.changes(since=cursor, branch="main", limit=10)
    for change_set in feed:
        commit: GraphCommit = change_set.commit
        empty: bool = change_set.diff.is_empty
        cursor = None if empty and commit.message else change_set.cursor
    return total + len(lost) + added + len(rows.schema), cursor


def keep_small(repo: Repository) -> tuple[int, str | None]:
    """Keep a repository small and quick."""
    told: CleanupReport = repo.cleanup(timedelta(days=30), keep_versions=10)
    versions: Swept = told.table_versions
    done: OptimizeReport = repo.optimize(["node:Person"], branch="main", actor="night job")
    table: OptimizedTable = done.tables["node:Person"]
    busy: bool = table.outcome is OptimizeOutcome.BUSY
    return versions.count + versions.bytes + busy, None if table.commit is None else table.table_key


def bring_together(repo: Repository) -> int:
    """Merge with each kind of strategy, look at what became of it, and take it back."""

    def ours_unless_gone(conflict: MergeConflict) -> object:
        row_id: str | None = conflict.row_id
        row: Mapping[str, Any] | None = conflict.ours
        if conflict.kind is MergeConflictKind.ORPHAN_EDGE or row_id is None:
            return UNRESOLVED
        return row

    try:
        shown: MergeResult = repo.branches.merge("side", dry_run=True)
    except MergeConflicts as error:
        conflicts: tuple[MergeConflict, ...] = error.conflicts
        shown = repo.branches.merge("side", "main", strategy="theirs", message=str(conflicts[0]))
    tables: Mapping[str, MergedTable] = shown.tables
    result = repo.branches.merge("side", strategy=ours_unless_gone, actor="ann")
    if result.kind is MergeKind.ALREADY_UP_TO_DATE or result.commit is None:
        return 0
    undone: GraphCommit | None = repo.revert(result.commit.graph_commit_id, strategy="ours")
    return sum(each.inserted or 0 for each in tables.values()) + (undone is not None)


def other_tools(snapshot: Snapshot, connection: Any) -> Mapping[str, str]:
    """Views, graphs in memory, and names for other programs."""
    views: dict[str, str] = duckdb_views(snapshot, connection, tables=["node:Person"], prefix="g")
    names: dict[str, str] = view_names(snapshot.tables, "graph")
    try:
        to_networkx(snapshot, columns={"node:Person": ["age"]}, typed_ids=True, at_most=1_000)
        indexed: IndexedGraph = to_rustworkx(snapshot, type_attribute="kind")
        number: int = indexed.index["ann"]
        names["ann"] = str(number)
    except MissingPackage as error:
        return {error.package: error.requirement}
    namespace = GraphNamespace("s3://bucket/people", actor="ann", **{"storage.region": "x"})
    namespace.close()
    return {**views, **names, "id": namespace.namespace_id()}
