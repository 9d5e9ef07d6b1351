"""The rows of ``__manifest``: columns, keys, commits in ``publish`` rows, conversion to Arrow.

Invariant: a row is read back as it was written; the keys that this module builds are those of
docs/format.md. A row that breaks the format is reported with its name. Rows of unknown kinds are
kept unchanged and ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from typing import Any, Final

import attrs
import pyarrow as pa

from omnigraph_l1 import PRIMARY_KEY
from omnigraph_l2._catalog.graph_commit import EPOCH, GraphCommit, Published
from omnigraph_l2.errors import CorruptRepository

__all__ = [
    "CLOSING",
    "CREATED",
    "DURABLE",
    "MANIFEST_SCHEMA",
    "OPERATION",
    "PUBLISH",
    "RUN_READ",
    "TABLE",
    "TABLE_VERSION",
    "TOMBSTONE",
    "UPDATED",
    "ManifestRow",
    "closing_row",
    "from_micros",
    "json_object",
    "later_time",
    "operation_key",
    "publish_key",
    "publish_row",
    "read_publish_row",
    "rows_from_arrow",
    "rows_to_arrow",
    "run_read_row",
    "to_micros",
    "tombstone_key",
    "version_key",
    "version_metadata",
]

TABLE: Final = "table"
TABLE_VERSION: Final = "table_version"
TOMBSTONE: Final = "table_tombstone"
PUBLISH: Final = "publish"
OPERATION: Final = "operation"
RUN_READ: Final = "run_read"
"""On the branch of a run: it has read this table. Others skip what they do not know."""

CLOSING: Final = "branch_closed"
"""The last row of a branch that is being deleted. It has the key that the next commit would have,
so that no commit can follow it."""
DURABLE: Final = "durable"
"""In the metadata of a version: whether its author flushed it, so that a power cut leaves it."""
_V2_NAME: Final = "18446744073709551615.manifest"

CREATED: Final = "_row_created_at_version"
UPDATED: Final = "_row_last_updated_at_version"

_MICROSECOND = timedelta(microseconds=1)
_LAST = datetime.max.replace(tzinfo=timezone.utc)
_TEXTS = (
    "parent_commit_id",
    "merged_parent_commit_id",
    "manifest_branch",
    "actor_id",
    "message",
    "run_id",
    "operation_hash",
)

MANIFEST_SCHEMA: Final = pa.schema(
    [
        pa.field("object_id", pa.string(), nullable=False, metadata={PRIMARY_KEY: b"true"}),
        pa.field("object_type", pa.string(), nullable=False),
        pa.field("location", pa.string()),
        pa.field("metadata", pa.string()),
        pa.field("base_objects", pa.list_(pa.field("item", pa.string()))),
        pa.field("table_key", pa.string(), nullable=False),
        pa.field("table_version", pa.uint64()),
        pa.field("table_branch", pa.string()),
        pa.field("row_count", pa.uint64()),
    ]
)


@attrs.frozen(kw_only=True)
class ManifestRow:
    """One row. The two versions are those of ``__manifest`` at which it came and last changed."""

    object_id: str
    object_type: str
    location: str | None = None
    metadata: str | None = None
    table_key: str = ""
    table_version: int | None = None
    table_branch: str | None = None
    row_count: int | None = None
    created_at_version: int = 0
    updated_at_version: int = 0


def version_key(table_key: str, version: int) -> str:
    """Return the key of a ``table_version`` row."""
    return f"{table_key}${version:020d}"


def tombstone_key(table_key: str, version: int) -> str:
    """Return the key of a ``table_tombstone`` row."""
    return f"{table_key}$tombstone${version:020d}"


def publish_key(sequence: int) -> str:
    """Return the key of a ``publish`` row."""
    return f"publish${sequence:020d}"


def operation_key(digest: str) -> str:
    """Return the key of an ``operation`` row, from the SHA-256 of the operation hash."""
    return f"operation${digest}"


def json_object(row: ManifestRow, location: str) -> dict[str, Any]:
    """Read the metadata of a row."""
    try:
        found = json.loads(row.metadata or "")
        if "\\u" in (row.metadata or ""):  # it may spell half of a surrogate pair
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        detail = f"its metadata is no JSON ({type(error).__name__}: {error})"
        raise CorruptRepository(location=location, item=row.object_id, detail=detail) from error
    if not isinstance(found, dict):
        detail = "its metadata is no JSON object"
        raise CorruptRepository(location=location, item=row.object_id, detail=detail)
    return found


def version_metadata(manifest_path: str, *, is_durable: bool) -> dict[str, Any]:
    """Return what the format requires of the metadata of a ``table_version`` row, and durability.

    Other readers need the former; this package does not.
    """
    name = manifest_path.rpartition("/")[2]
    return {
        "manifest_path": manifest_path,
        "manifest_size": None,
        "e_tag": None,
        "naming_scheme": "V2" if len(name) == len(_V2_NAME) else "V1",
        DURABLE: is_durable,
    }


def run_read_row(table_key: str) -> ManifestRow:
    """Note on the branch of a run that it has read a table."""
    return ManifestRow(
        object_id=f"{RUN_READ}${table_key}", object_type=RUN_READ, table_key=table_key
    )


def closing_row(sequence: int, native: str) -> ManifestRow:
    """Close a branch: nothing is published on it after this row."""
    return ManifestRow(
        object_id=publish_key(sequence),
        object_type=CLOSING,
        table_version=sequence,
        table_branch=native,
    )


def rows_to_arrow(rows: Iterable[ManifestRow]) -> pa.Table:
    """Return rows as they are stored."""
    listed = list(rows)
    columns = [
        pa.array([getattr(row, field.name, None) for row in listed], field.type)
        for field in MANIFEST_SCHEMA
    ]
    return pa.Table.from_arrays(columns, schema=MANIFEST_SCHEMA)


def rows_from_arrow(table: pa.Table) -> list[ManifestRow]:
    """Read rows, with the versions at which they came and last changed where these were read."""
    names = [name for name in attrs.fields_dict(ManifestRow) if name in table.column_names]
    columns = [table.column(name).to_pylist() for name in names]
    for attribute, column in (("created_at_version", CREATED), ("updated_at_version", UPDATED)):
        if column in table.column_names:
            names.append(attribute)
            columns.append(table.column(column).to_pylist())
    return [
        ManifestRow(**dict(zip(names, values, strict=True)))
        for values in zip(*columns, strict=True)
    ]


def to_micros(moment: datetime) -> int:
    """Count the microseconds since 1970."""
    return (moment - EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the time, in UTC."""
    return EPOCH + micros * _MICROSECOND


def later_time(time: datetime) -> datetime:
    """Return the next microsecond; at the end of the calendar, where there is none, the same."""
    return time if time >= _LAST else time + _MICROSECOND


def publish_row(made: Published) -> ManifestRow:
    """Encode a commit as a ``publish`` row."""
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


def read_publish_row(row: ManifestRow, location: str) -> Published:
    """Decode a ``publish`` row."""
    sequence = row.table_version
    found = json_object(row, location)
    if not found.get("graph_commit_id"):
        raise _no_commit(row, location, "it does not name itself")
    for name in ("graph_commit_id", *_TEXTS):
        if not isinstance(found.get(name), str | None):
            raise _no_commit(row, location, f"its {name!r} is {found[name]!r}")
    micros = found.get("created_at")
    if type(micros) is not int:
        raise _no_commit(row, location, f"its 'created_at' is {micros!r}, not microseconds")
    try:
        created_at = from_micros(micros)
    except OverflowError as error:
        raise _no_commit(row, location, f"its 'created_at' is {micros}") from error
    if sequence is None or row.object_id != publish_key(sequence):
        raise _no_commit(row, location, f"its table_version {sequence} is not the one in its key")
    commit = GraphCommit(
        graph_commit_id=found["graph_commit_id"],
        manifest_version=row.created_at_version,
        created_at=created_at,
        **{name: found.get(name) for name in _TEXTS},
    )
    return Published(sequence, commit)


def _no_commit(row: ManifestRow, location: str, detail: str) -> CorruptRepository:
    return CorruptRepository(
        location=location, item=row.object_id, detail=f"it is no commit: {detail}"
    )
