"""Graph commits, and how they are written into the ``publish`` row that makes them. Pure."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import attrs

from omnigraph_l2._catalog.rows import PUBLISH, ManifestRow, json_object, publish_key
from omnigraph_l2.errors import CorruptRepository

__all__ = [
    "EPOCH",
    "GraphCommit",
    "Published",
    "from_micros",
    "publish_row",
    "published",
    "to_micros",
]

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_TEXTS = (
    "parent_commit_id",
    "merged_parent_commit_id",
    "manifest_branch",
    "actor_id",
    "message",
    "run_id",
    "operation_hash",
)


@attrs.frozen(kw_only=True)
class GraphCommit:
    """One change of the graph: every table that it changed became visible with it."""

    graph_commit_id: str
    parent_commit_id: str | None
    merged_parent_commit_id: str | None = None
    manifest_branch: str | None = None
    """The native branch that it was made on; None is main."""
    manifest_version: int
    """The version of the catalog that shows it. ``repo.snapshot(version=…)`` takes it."""
    actor_id: str | None = None
    message: str | None = None
    created_at: datetime
    run_id: str | None = None
    operation_hash: str | None = None


@attrs.frozen
class Published:
    """A commit, and its place in the sequence of its branch."""

    sequence: int
    commit: GraphCommit

    @property
    def commit_id(self) -> str:
        """The id of the commit."""
        return self.commit.graph_commit_id


def to_micros(moment: datetime) -> int:
    """Count the microseconds since 1970."""
    return (moment - EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Give the moment, in UTC."""
    return EPOCH + micros * _MICROSECOND


def publish_row(made: Published) -> ManifestRow:
    """Write a commit down."""
    commit = made.commit
    metadata: dict[str, Any] = {
        "graph_commit_id": commit.graph_commit_id,
        "parent_commit_id": commit.parent_commit_id,
        "merged_parent_commit_id": commit.merged_parent_commit_id,
        "actor_id": commit.actor_id,
        "message": commit.message,
        "created_at": to_micros(commit.created_at),
        "run_id": commit.run_id,
        "operation_hash": commit.operation_hash,
        "manifest_branch": commit.manifest_branch,
    }
    return ManifestRow(
        object_id=publish_key(made.sequence),
        object_type=PUBLISH,
        metadata=json.dumps(metadata, ensure_ascii=False),
        table_version=made.sequence,
    )


def published(row: ManifestRow, place: str) -> Published:
    """Read a ``publish`` row."""
    sequence = row.table_version
    found = json_object(row, place)
    if not found.get("graph_commit_id"):
        raise _no_commit(row, place, "it does not name itself")
    for name in ("graph_commit_id", *_TEXTS):
        if not isinstance(found.get(name), str | None):
            raise _no_commit(row, place, f"its {name!r} is {found[name]!r}")
    micros = found.get("created_at")
    if type(micros) is not int:
        raise _no_commit(row, place, f"its 'created_at' is {micros!r}, not microseconds")
    try:
        created_at = from_micros(micros)
    except OverflowError as error:
        raise _no_commit(row, place, f"its 'created_at' is {micros}") from error
    if sequence is None or row.object_id != publish_key(sequence):
        raise _no_commit(row, place, f"its table_version {sequence} is not the one in its key")
    commit = GraphCommit(
        graph_commit_id=found["graph_commit_id"],
        manifest_version=row.created_at_version,
        created_at=created_at,
        **{name: found.get(name) for name in _TEXTS},
    )
    return Published(sequence, commit)


def _no_commit(row: ManifestRow, place: str, detail: str) -> CorruptRepository:
    return CorruptRepository(place=place, item=row.object_id, detail=f"it is no commit: {detail}")
