"""``info``, ``tables`` and ``schema``: what is there."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository, Snapshot
from omnigraph_l2._cli.options import Job, Moment
from omnigraph_l2._cli.status import UsageError
from omnigraph_l2._cli.times import shown_bytes, shown_time
from omnigraph_l2._cli.work.files import FilesOf, files_of
from omnigraph_l2._cli.work.schema_files import written

__all__ = ["info", "schema", "tables"]


def info(job: Job) -> int:
    """Tell of the repository, and of the settings."""
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
    told = [
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
    for name, value in told:
        job.out.line((f"{name:<12}  ", "bold"), value)
    return 0


def tables(job: Job, moment: Moment, keys: Sequence[str]) -> int:
    """List the tables of a moment; all where none is named."""
    with job.open() as repo:
        snapshot = moment.of(repo)
        entries = {key: snapshot.entry(key) for key in keys or snapshot.tables}
        sizes = {key: files_of(snapshot.dataset(key)) for key in entries}
        if job.out.json:
            job.out.document(_tables_document(repo, snapshot, sizes))
            return 0
        rows = [
            (
                (key, f"{entry.row_count:,}", f"{sizes[key].files:,}",
                 shown_bytes(sizes[key].bytes), f"{entry.table_version}", entry.table_branch or "-")
            )
            for key, entry in entries.items()
        ]  # fmt: skip
        job.out.columns(("table", "rows", "files", "size", "version", "fork"), rows)
    return 0


def schema(job: Job, moment: Moment, *, toml: bool) -> int:
    """Show the types of a moment."""
    if toml and job.out.json:
        message = "say either --toml or --json"
        raise UsageError(message)
    with job.open() as repo:
        found = moment.of(repo).schema
    if toml:
        job.out.raw(written(found).rstrip("\n"))
    elif job.out.json:
        job.out.document(schema_document(found))
    else:
        show_schema(job, found)
    return 0


def show_schema(job: Job, found: GraphSchema) -> None:
    """Show types to a person."""
    for each in found.types:
        ends = ""
        if isinstance(each, EdgeType):
            ends = f"  {each.source or 'any'} → {each.target or 'any'}"
        job.out.line((each.table_key, "bold"), ends)
        width = max(map(len, each.properties), default=0)
        for name, type_ in each.properties.items():
            job.out.line(f"  {name:<{width}}  ", (str(type_), "cyan"), _constraints(each, name))


def schema_document(found: GraphSchema) -> dict[str, object]:
    """Give types as a document."""
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
    return f"{commit_id} of {shown_time(created_at)}"  # type: ignore[arg-type]


def _tables_document(
    repo: Repository, snapshot: Snapshot, sizes: dict[str, FilesOf]
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
