"""``info``, ``tables`` and ``schema``: the content of a repository."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from attrs import frozen

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository, Snapshot, VersionRecord
from omnigraph_l2._cli.common_options import Job, Revision
from omnigraph_l2._cli.exit_status import UsageError
from omnigraph_l2._cli.formats.schema_toml import schema_to_toml
from omnigraph_l2._cli.human_units import format_bytes, format_time

__all__ = ["FileTotals", "count_files", "count_own_bytes", "history", "info", "schema", "tables"]


def info(job: Job) -> int:
    """Show the repository and the settings."""
    settings = job.settings
    with job.open() as repo:
        snapshot = repo.snapshot()
        branches, tags = repo.branches.list(), repo.tags.list()
        found = {
            "repository": repo.uri,
            "version": snapshot.version,
            "commit": snapshot.commit,
            "tables": len(snapshot.tables),
            "rows": sum(entry.row_count for entry in snapshot.tables.values()),
            "branches": [each.name for each in branches],
            "tags": [each.name for each in tags],
            "settings": {
                "file": settings.file,
                "actor": settings.actor,
                "durability": settings.durability,
                "storage": sorted(settings.storage),
                "from": dict(settings.origins),
            },
            "program": version("omnigraph-l2"),
            "lance": version("pylance"),
        }
    if job.out.json:
        job.out.document(found)
        return 0
    head = snapshot.commit
    facts = [
        ("repository", repo.uri),
        ("tables", f"{found['tables']} with {found['rows']:,} rows on main"),
        ("version", f"{snapshot.version}"),
        ("last commit", "-" if head is None else _commit(head.graph_commit_id, head.created_at)),
        ("branches", ", ".join(each.name for each in branches)),
        ("tags", ", ".join(each.name for each in tags) or "-"),
        ("settings", "no omnigraph.toml" if settings.file is None else str(settings.file)),
        *((f"  {name}", f"from {origin}") for name, origin in settings.origins.items()),
        ("program", f"omnigraph-l2 {found['program']}, pylance {found['lance']}"),
    ]
    for name, value in facts:
        job.out.line((f"{name:<12}  ", "bold"), value)
    return 0


def tables(job: Job, revision: Revision, keys: Sequence[str]) -> int:
    """List the tables of a revision, by default all."""
    with job.open() as repo:
        snapshot = revision.snapshot(repo)
        entries = {key: snapshot.entry(key) for key in keys or snapshot.tables}
        sizes = {key: count_files(snapshot.dataset(key)) for key in entries}
        if job.out.json:
            job.out.document(_tables_document(repo, snapshot, sizes))
            return 0
        rows = [
            (
                key,
                f"{entry.row_count:,}",
                f"{sizes[key].files:,}",
                format_bytes(sizes[key].bytes),
                f"{entry.table_version}",
                entry.table_branch or "-",
            )
            for key, entry in entries.items()
        ]
        job.out.columns(("table", "rows", "files", "size", "version", "fork"), rows)
    return 0


def schema(job: Job, revision: Revision, *, toml: bool) -> int:
    """Show the types of a revision."""
    if toml and job.out.json:
        message = "Use either --toml or --json, not both"
        raise UsageError(message)
    with job.open() as repo:
        found = revision.snapshot(repo).schema
    if toml:
        job.out.raw(schema_to_toml(found).rstrip("\n"))
    elif job.out.json:
        job.out.document(schema_document(found))
    else:
        show_schema(job, found)
    return 0


def show_schema(job: Job, found: GraphSchema) -> None:
    """Print types for a person."""
    for each in found.types:
        ends = ""
        if isinstance(each, EdgeType):
            ends = f"  {each.source or 'any'} → {each.target or 'any'}"
        job.out.line((each.table_key, "bold"), ends)
        width = max(map(len, each.properties), default=0)
        for name, type_ in each.properties.items():
            job.out.line(f"  {name:<{width}}  ", (str(type_), "cyan"), _constraints(each, name))


def schema_document(found: GraphSchema) -> dict[str, object]:
    """Return types as a JSON document."""
    return {
        "tables": [
            {
                "table_key": each.table_key,
                **(
                    {"source": each.source, "target": each.target}
                    if isinstance(each, EdgeType)
                    else {}
                ),
                "properties": {
                    name: {
                        "type": str(type_),
                        "required": name in each.required,
                        "unique": name in each.unique,
                        "index": each.indexes.get(name),
                    }
                    for name, type_ in each.properties.items()
                },
            }
            for each in found.types
        ]
    }


def _constraints(each: NodeType | EdgeType, name: str) -> str:
    words = [word for word in ("required", "unique") if name in getattr(each, word)]
    if name in each.indexes:
        words.append(f"index {each.indexes[name]}")
    return f"  {', '.join(words)}" if words else ""


def _commit(commit_id: str, created_at: object) -> str:
    return f"{commit_id} of {format_time(created_at)}"  # type: ignore[arg-type]


def _tables_document(
    repo: Repository, snapshot: Snapshot, sizes: dict[str, FileTotals]
) -> dict[str, object]:
    return {
        "repository": repo.uri,
        "branch": snapshot.branch,
        "version": snapshot.version,
        "commit": None if snapshot.commit is None else snapshot.commit.graph_commit_id,
        "tables": [
            {
                "table_key": key,
                "rows": entry.row_count,
                "files": sizes[key].files,
                "bytes": sizes[key].bytes,
                "table_version": entry.table_version,
                "table_branch": entry.table_branch,
                "table_path": entry.table_path,
            }
            for key, entry in ((key, snapshot.entry(key)) for key in sizes)
        ],
    }


_HEAD = ("version", "operation", "on", "time", "id", "properties")


def history(job: Job, revision: Revision, keys: Sequence[str], limit: int) -> int:
    """Show the newest Lance versions of each table, by default of all."""
    with job.open() as repo:
        snapshot = revision.snapshot(repo)
        chosen = keys or list(snapshot.tables)
        if job.out.json:
            job.out.document(_document(repo, snapshot, chosen, limit))
            return 0
        for number, key in enumerate(chosen):
            # Read before the heading is printed: an unknown table is an error without output.
            records = snapshot.history(key, limit=limit)
            if number:
                job.out.line("")
            job.out.line((key, "bold"))
            job.out.columns(_HEAD, map(_row, records))
    return 0


def _row(record: VersionRecord) -> tuple[str, ...]:
    return (
        f"{record.version}",
        record.operation or "-",
        "-" if record.read_version is None else f"{record.read_version}",
        format_time(record.committed_at),
        record.transaction_id or "-",
        record.problem
        or ", ".join(f"{k}={v}" for k, v in sorted(record.properties.items()))
        or "-",
    )


def _document(
    repo: Repository, snapshot: Snapshot, keys: Sequence[str], limit: int
) -> dict[str, object]:
    return {
        "repository": repo.uri,
        "branch": snapshot.branch,
        "version": snapshot.version,
        "tables": [
            {
                "table_key": key,
                "history": [_plain(record) for record in snapshot.history(key, limit=limit)],
            }
            for key in keys
        ],
    }


def _plain(record: VersionRecord) -> dict[str, object]:
    return {
        "version": record.version,
        "operation": record.operation,
        "read_version": record.read_version,
        "committed_at": record.committed_at,
        "transaction_id": record.transaction_id,
        "properties": dict(record.properties),
        "problem": record.problem,
    }


@frozen
class FileTotals:
    """The number of files and their size."""

    files: int
    bytes: int


def count_files(dataset: Any) -> FileTotals:
    """Count the data files of one version of a dataset, from its manifest."""
    sizes = [
        file.file_size_bytes or 0
        for fragment in dataset.get_fragments()
        for file in fragment.metadata.files
    ]
    return FileTotals(len(sizes), sum(sizes))


def count_own_bytes(dataset: Any) -> int:
    """Count the bytes of the data files that a fork does not share with its parent."""
    return sum(
        file.file_size_bytes or 0
        for fragment in dataset.get_fragments()
        for file in fragment.metadata.files
        if getattr(file, "base_id", None) is None
    )
