"""Commits, branches, tags, errors and schemas as JSON objects. No I/O."""

from __future__ import annotations

from typing import Any, Final

from omnigraph_l2 import Branch, EdgeType, GraphCommit, NodeType, Snapshot, Tag
from omnigraph_l2._explore.cell_text import truncate
from omnigraph_l2.errors import (
    BadInput,
    Conflict,
    NotFound,
    OmniGraphError,
)

__all__ = [
    "JsonObject",
    "branch_name",
    "http_status",
    "serialize_branch",
    "serialize_commit",
    "serialize_error",
    "serialize_schema",
    "serialize_tag",
]

_LONG: Final = 4_000
_ULID: Final = 26
_MAIN: Final = "main"

JsonObject = dict[str, Any]


def serialize_commit(commit: GraphCommit, names: dict[str | None, str]) -> JsonObject:
    """Return a commit as a JSON object."""
    native = commit.manifest_branch
    return {
        "id": commit.graph_commit_id,
        "parent": commit.parent_commit_id,
        "merged": commit.merged_parent_commit_id,
        "branch": names.get(native) or branch_name(native),
        "deleted": native is not None and native not in names,
        "actor": truncate(commit.actor_id),
        "message": truncate(commit.message, _LONG),
        "at": commit.created_at.isoformat(),
        "run": truncate(commit.run_id),
        "operation": truncate(commit.operation_hash),
        "version": commit.manifest_version,
    }


def branch_name(native: str | None) -> str:
    """Return the name of a native branch, also of a deleted one."""
    if native is None:
        return _MAIN
    name, _, ending = native.rpartition(".")
    return name if name and len(ending) == _ULID else native


def serialize_branch(branch: Branch) -> JsonObject:
    """Return a branch as a JSON object."""
    updated = branch.updated_at
    return {
        "name": branch.name,
        "head": branch.head_commit_id,
        "parent": branch.parent_branch,
        "updated": None if updated is None else updated.isoformat(),
    }


def serialize_tag(tag: Tag) -> JsonObject:
    """Return a tag as a JSON object."""
    return {
        "name": tag.name,
        "commit": tag.graph_commit_id,
        "branch": tag.branch,
        "message": truncate(tag.message, _LONG),
        "actor": truncate(tag.actor_id),
        "at": tag.created_at.isoformat(),
    }


def serialize_error(error: Exception) -> JsonObject:
    """Return an error as a JSON object with its kind and message."""
    kind = error.kind if isinstance(error, OmniGraphError) else "internal_error"
    return {"error": {"kind": kind, "type": type(error).__name__, "message": str(error)[:_LONG]}}


def http_status(error: Exception) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, BadInput):
        return 400
    if isinstance(error, NotFound):
        return 404
    return 409 if isinstance(error, Conflict) else 500


_TYPES: Final = 400
_PROPERTIES: Final = 60
_TYPE: Final = 160


def serialize_schema(snapshot: Snapshot) -> JsonObject:
    """Return the types, nodes first, up to a limit."""
    types = snapshot.schema.types
    return {
        "types": [_type(each, snapshot) for each in types[:_TYPES]],
        "left_out": max(len(types) - _TYPES, 0),
    }


def _type(declared: NodeType | EdgeType, snapshot: Snapshot) -> JsonObject:
    properties = list(declared.properties.items())
    edge = isinstance(declared, EdgeType)
    return {
        "key": declared.table_key,
        "kind": "edge" if edge else "node",
        "name": declared.name,
        "source": declared.source if isinstance(declared, EdgeType) else None,
        "target": declared.target if isinstance(declared, EdgeType) else None,
        "rows": snapshot.tables[declared.table_key].row_count,
        "properties": [
            {
                "name": name,
                "type": str(type_)[:_TYPE],
                "required": name in declared.required,
                "unique": name in declared.unique,
                "index": declared.indexes.get(name),
            }
            for name, type_ in properties[:_PROPERTIES]
        ],
        "left_out": max(len(properties) - _PROPERTIES, 0),
    }
