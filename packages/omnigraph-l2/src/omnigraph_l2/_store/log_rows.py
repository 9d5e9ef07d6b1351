"""The columns of the datasets of commits and runs, and commits as rows of them. Pure.

See docs/format.md for the format.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Final

import pyarrow as pa

from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._catalog.publish_plan import operation_digest

__all__ = [
    "ACTORS_SCHEMA",
    "COMMITS_SCHEMA",
    "NOTES_SCHEMA",
    "RUNS_SCHEMA",
    "RUN_ACTORS_SCHEMA",
    "actor_rows",
    "commit_rows",
    "commits_from",
    "note_rows",
]


def commit_rows(commits: Iterable[GraphCommit]) -> pa.Table:
    """Return commits as rows of the log."""
    return _table(
        (
            {
                "graph_commit_id": each.graph_commit_id,
                "manifest_branch": each.manifest_branch,
                "manifest_version": each.manifest_version,
                "parent_commit_id": each.parent_commit_id,
                "merged_parent_commit_id": each.merged_parent_commit_id,
                "created_at": _naive(each.created_at),
            }
            for each in commits
        ),
        COMMITS_SCHEMA,
    )


def actor_rows(commits: Iterable[GraphCommit]) -> pa.Table:
    """Return the actors of commits as rows, as far as they are known."""
    return _table(
        (
            {
                "graph_commit_id": each.graph_commit_id,
                "actor_id": each.actor_id,
                "created_at": _naive(each.created_at),
            }
            for each in commits
            if each.actor_id is not None
        ),
        ACTORS_SCHEMA,
    )


def note_rows(commits: Iterable[GraphCommit]) -> pa.Table:
    """Return as rows what the specified columns cannot hold."""
    return _table(
        (
            {
                "graph_commit_id": each.graph_commit_id,
                "message": each.message,
                "run_id": each.run_id,
                "operation_hash": each.operation_hash,
                "operation_digest": None
                if each.operation_hash is None
                else operation_digest(each.operation_hash),
            }
            for each in commits
            if (each.message, each.run_id, each.operation_hash) != (None, None, None)
        ),
        NOTES_SCHEMA,
    )


def commits_from(
    rows: Sequence[Mapping[str, Any]],
    actors: Iterable[Mapping[str, Any]],
    notes: Iterable[Mapping[str, Any]],
) -> list[GraphCommit]:
    """Return the commits in rows. A commit that two writers logged at once is returned once."""
    actor_of = {row["graph_commit_id"]: row["actor_id"] for row in actors}
    note_of = {row["graph_commit_id"]: row for row in notes}
    found: dict[str, GraphCommit] = {}
    for row in rows:
        commit_id = row["graph_commit_id"]
        note = note_of.get(commit_id, {})
        found[commit_id] = GraphCommit(
            graph_commit_id=commit_id,
            parent_commit_id=row["parent_commit_id"],
            merged_parent_commit_id=row["merged_parent_commit_id"],
            manifest_branch=row["manifest_branch"],
            manifest_version=row["manifest_version"],
            actor_id=actor_of.get(commit_id),
            message=note.get("message"),
            created_at=row["created_at"].replace(tzinfo=timezone.utc),
            run_id=note.get("run_id"),
            operation_hash=note.get("operation_hash"),
        )
    return list(found.values())


def _table(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist([dict(row) for row in rows], schema=schema)


def _naive(moment: datetime) -> datetime:
    return moment.astimezone(timezone.utc).replace(tzinfo=None)


_MOMENT: Final = pa.timestamp("us")


def _required_field(name: str, type_: pa.DataType) -> pa.Field:
    return pa.field(name, type_, nullable=False)


COMMITS_SCHEMA: Final = pa.schema(
    [
        _required_field("graph_commit_id", pa.string()),
        pa.field("manifest_branch", pa.string()),
        _required_field("manifest_version", pa.uint64()),
        pa.field("parent_commit_id", pa.string()),
        pa.field("merged_parent_commit_id", pa.string()),
        _required_field("created_at", _MOMENT),
    ]
)
ACTORS_SCHEMA: Final = pa.schema(
    [
        _required_field("graph_commit_id", pa.string()),
        _required_field("actor_id", pa.string()),
        _required_field("created_at", _MOMENT),
    ]
)
NOTES_SCHEMA: Final = pa.schema(
    [
        _required_field("graph_commit_id", pa.string()),
        pa.field("message", pa.string()),
        pa.field("run_id", pa.string()),
        pa.field("operation_hash", pa.string()),
        pa.field("operation_digest", pa.string()),
    ]
)
RUNS_SCHEMA: Final = pa.schema(
    [
        _required_field("run_id", pa.string()),
        _required_field("target_branch", pa.string()),
        _required_field("run_branch", pa.string()),
        _required_field("base_snapshot_id", pa.string()),
        _required_field("base_manifest_version", pa.uint64()),
        pa.field("operation_hash", pa.string()),
        _required_field("status", pa.string()),
        pa.field("published_snapshot_id", pa.string()),
        _required_field("created_at", _MOMENT),
        _required_field("updated_at", _MOMENT),
    ]
)
RUN_ACTORS_SCHEMA: Final = pa.schema(
    [
        _required_field("run_id", pa.string()),
        _required_field("actor_id", pa.string()),
        _required_field("created_at", _MOMENT),
    ]
)
