"""The columns of the datasets of commits and runs: see docs/format.md."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

__all__ = ["ACTORS_SCHEMA", "COMMITS_SCHEMA", "NOTES_SCHEMA", "RUNS_SCHEMA", "RUN_ACTORS_SCHEMA"]

_MOMENT: Final = pa.timestamp("us")


def _required(name: str, type_: pa.DataType) -> pa.Field:
    return pa.field(name, type_, nullable=False)


COMMITS_SCHEMA: Final = pa.schema(
    [
        _required("graph_commit_id", pa.string()),
        pa.field("manifest_branch", pa.string()),
        _required("manifest_version", pa.uint64()),
        pa.field("parent_commit_id", pa.string()),
        pa.field("merged_parent_commit_id", pa.string()),
        _required("created_at", _MOMENT),
    ]
)
ACTORS_SCHEMA: Final = pa.schema(
    [
        _required("graph_commit_id", pa.string()),
        _required("actor_id", pa.string()),
        _required("created_at", _MOMENT),
    ]
)
NOTES_SCHEMA: Final = pa.schema(
    [
        _required("graph_commit_id", pa.string()),
        pa.field("message", pa.string()),
        pa.field("run_id", pa.string()),
        pa.field("operation_hash", pa.string()),
        pa.field("operation_digest", pa.string()),
    ]
)
RUNS_SCHEMA: Final = pa.schema(
    [
        _required("run_id", pa.string()),
        _required("target_branch", pa.string()),
        _required("run_branch", pa.string()),
        _required("base_snapshot_id", pa.string()),
        _required("base_manifest_version", pa.uint64()),
        pa.field("operation_hash", pa.string()),
        _required("status", pa.string()),
        pa.field("published_snapshot_id", pa.string()),
        _required("created_at", _MOMENT),
        _required("updated_at", _MOMENT),
    ]
)
RUN_ACTORS_SCHEMA: Final = pa.schema(
    [
        _required("run_id", pa.string()),
        _required("actor_id", pa.string()),
        _required("created_at", _MOMENT),
    ]
)
