"""Commits, branches, tags and what was found wrong, as plain data. Pure."""

from __future__ import annotations

from typing import Any, Final

from omnigraph_l2 import Branch, GraphCommit, Tag
from omnigraph_l2._explore.cells import cut
from omnigraph_l2.errors import (
    BadInput,
    Conflict,
    NotFound,
    OmniGraphError,
)

__all__ = ["branch_told", "commit_told", "name_of_native", "problem_told", "status_of", "tag_told"]

_LONG: Final = 4_000
_ULID: Final = 26
_MAIN: Final = "main"

Plain = dict[str, Any]


def commit_told(commit: GraphCommit, names: dict[str | None, str]) -> Plain:
    """Tell what is known of a commit."""
    native = commit.manifest_branch
    return {
        "id": commit.graph_commit_id,
        "parent": commit.parent_commit_id,
        "merged": commit.merged_parent_commit_id,
        "branch": names.get(native) or name_of_native(native),
        "deleted": native is not None and native not in names,
        "actor": cut(commit.actor_id),
        "message": cut(commit.message, _LONG),
        "at": commit.created_at.isoformat(),
        "run": cut(commit.run_id),
        "operation": cut(commit.operation_hash),
        "version": commit.manifest_version,
    }


def name_of_native(native: str | None) -> str:
    """Give the name that a native branch had as long as it was there."""
    if native is None:
        return _MAIN
    name, _, ending = native.rpartition(".")
    return name if name and len(ending) == _ULID else native


def branch_told(branch: Branch) -> Plain:
    """Tell what is known of a branch."""
    updated = branch.updated_at
    return {
        "name": branch.name,
        "head": branch.head_commit_id,
        "parent": branch.parent_branch,
        "updated": None if updated is None else updated.isoformat(),
    }


def tag_told(tag: Tag) -> Plain:
    """Tell what is known of a tag."""
    return {
        "name": tag.name,
        "commit": tag.graph_commit_id,
        "branch": tag.branch,
        "message": cut(tag.message, _LONG),
        "actor": cut(tag.actor_id),
        "at": tag.created_at.isoformat(),
    }


def problem_told(error: Exception) -> Plain:
    """Tell an error: its kind never changes, its message says what to do."""
    kind = error.kind if isinstance(error, OmniGraphError) else "internal_error"
    return {"error": {"kind": kind, "type": type(error).__name__, "message": str(error)[:_LONG]}}


def status_of(error: Exception) -> int:
    """Give the HTTP status that says whose fault it is."""
    if isinstance(error, BadInput):
        return 400
    if isinstance(error, NotFound):
        return 404
    return 409 if isinstance(error, Conflict) else 500
