"""Describe a repository as plain JSON, through public names only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from omnigraph_l2 import EdgeType, GraphCommit, GraphSchema, Repository, Snapshot
from omnigraph_l2.errors import SnapshotExpired

__all__ = ["contents", "describe", "describe_commit", "describe_tag", "digest"]

_NEWEST_THEN = 2
"""The newest internal schema version when the archives were written."""


def describe(repo: Repository, archived: Iterable[str]) -> dict[str, Any]:
    """Return all that a user can read; ``archived`` are ids of commits of deleted branches."""
    names = [each.name for each in repo.branches.list()]
    logs = {name: repo.log(name) for name in names}
    commits = {each.graph_commit_id: (name, each) for name in names for each in logs[name]}
    return {
        "older_catalogs": {
            name: version
            for name, version in repo.migrate().found.items()
            if version < _NEWEST_THEN
        },
        "branches": {name: _branch(repo, name, logs[name]) for name in names},
        "commits": {name: describe_commit(repo, *found) for name, found in commits.items()},
        "archived": {name: _fields(repo.commit(name)) for name in archived},
        "tags": {each.name: describe_tag(repo, each.name) for each in repo.tags.list()},
        "runs": {each.run_id: _run(repo, each.run_id) for each in repo.runs.list()},
    }


def contents(snapshot: Snapshot) -> dict[str, list[Any]]:
    """Return the row count and the digest of the rows of each table."""
    return {
        key: [entry.row_count, digest(snapshot.read(key).to_pylist())]
        for key, entry in sorted(snapshot.tables.items())
    }


def digest(rows: Iterable[dict[str, Any]]) -> str:
    """Return a digest of rows, whatever their order."""
    ordered = sorted(rows, key=lambda row: str(row["id"]))
    text = json.dumps(ordered, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def describe_commit(repo: Repository, branch: str, commit: GraphCommit) -> dict[str, Any]:
    """Return the record of a commit, and the graph as it was then."""
    try:
        tables: Any = contents(repo.snapshot(branch, commit=commit.graph_commit_id))
    except SnapshotExpired:
        tables = "expired"
    return {**_fields(commit), "tables": tables}


def describe_tag(repo: Repository, name: str) -> dict[str, Any]:
    """Return what a tag says, and the graph that it names."""
    tag = repo.tags.get(name)
    return {
        "commit": tag.graph_commit_id,
        "branch": tag.branch,
        "actor": tag.actor_id,
        "message": tag.message,
        "tables": contents(repo.snapshot(tag=name)),
    }


def _branch(repo: Repository, name: str, log: list[GraphCommit]) -> dict[str, Any]:
    branch, snapshot = repo.branches.get(name), repo.snapshot(name)
    return {
        "native_branch": branch.native_branch,
        "parent_branch": branch.parent_branch,
        "parent_manifest_version": branch.parent_manifest_version,
        "manifest_version": branch.manifest_version,
        "head": branch.head_commit_id,
        "log": [each.graph_commit_id for each in log],
        "schema": _schema(snapshot.schema),
        "entries": {
            key: [entry.table_path, entry.table_version, entry.table_branch]
            for key, entry in sorted(snapshot.tables.items())
        },
        "tables": contents(snapshot),
    }


def _fields(commit: GraphCommit) -> dict[str, Any]:
    return {
        "parent": commit.parent_commit_id,
        "merged_parent": commit.merged_parent_commit_id,
        "manifest_branch": commit.manifest_branch,
        "manifest_version": commit.manifest_version,
        "actor": commit.actor_id,
        "message": commit.message,
        "created_at": commit.created_at.isoformat(),
        "run": commit.run_id,
        "operation_hash": commit.operation_hash,
    }


def _run(repo: Repository, run_id: str) -> dict[str, Any]:
    run = repo.runs.get(run_id)
    running = run.status.value == "running"
    return {
        "target_branch": run.target_branch,
        "base_commit": run.base_commit_id,
        "operation_hash": run.operation_hash,
        "actor": run.actor,
        "status": run.status.value,
        "commit": run.published_commit_id,
        "reason": run.reason,
        "tables": contents(run.snapshot()) if running else None,
    }


def _schema(schema: GraphSchema) -> dict[str, Any]:
    return {
        each.table_key: {
            "ends": [each.source, each.target] if isinstance(each, EdgeType) else None,
            "properties": {name: str(type_) for name, type_ in each.properties.items()},
            "required": sorted(each.required),
            "unique": sorted(each.unique),
            "indexes": dict(sorted(each.indexes.items())),
        }
        for each in schema.types
    }
