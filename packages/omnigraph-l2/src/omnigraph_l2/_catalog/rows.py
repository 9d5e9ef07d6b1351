"""The rows of ``__manifest``: what they look like, and what they are called.

Always: what is read is what was written; keys that this module builds are those of docs/format.md.
A row that breaks the format is told with its name. Kinds of rows that are not known are kept as
they are, and mean nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

import attrs
import pyarrow as pa

from omnigraph_l1 import PRIMARY_KEY
from omnigraph_l2.errors import CorruptRepository

__all__ = [
    "CREATED",
    "MANIFEST_SCHEMA",
    "OPERATION",
    "PUBLISH",
    "RUN_READ",
    "TABLE",
    "TABLE_VERSION",
    "TOMBSTONE",
    "UPDATED",
    "ManifestRow",
    "json_object",
    "operation_key",
    "publish_key",
    "read_row",
    "rows_from_arrow",
    "rows_to_arrow",
    "tombstone_key",
    "version_key",
]

TABLE: Final = "table"
TABLE_VERSION: Final = "table_version"
TOMBSTONE: Final = "table_tombstone"
PUBLISH: Final = "publish"
OPERATION: Final = "operation"
RUN_READ: Final = "run_read"
"""On the branch of a run: it has read this table. Others skip what they do not know."""

CREATED: Final = "_row_created_at_version"
UPDATED: Final = "_row_last_updated_at_version"

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
    """Give the key of a ``table_version`` row."""
    return f"{table_key}${version:020d}"


def tombstone_key(table_key: str, version: int) -> str:
    """Give the key of a ``table_tombstone`` row."""
    return f"{table_key}$tombstone${version:020d}"


def publish_key(sequence: int) -> str:
    """Give the key of a ``publish`` row."""
    return f"publish${sequence:020d}"


def operation_key(digest: str) -> str:
    """Give the key of an ``operation`` row, from the SHA-256 of the operation hash."""
    return f"operation${digest}"


def json_object(row: ManifestRow, place: str) -> dict[str, Any]:
    """Read the metadata of a row."""
    try:
        found = json.loads(row.metadata or "")
        if "\\u" in (row.metadata or ""):  # it may spell half of a surrogate pair
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        detail = f"its metadata is no JSON ({type(error).__name__}: {error})"
        raise CorruptRepository(place=place, item=row.object_id, detail=detail) from error
    if not isinstance(found, dict):
        detail = "its metadata is no JSON object"
        raise CorruptRepository(place=place, item=row.object_id, detail=detail)
    return found


def read_row(table_key: str) -> ManifestRow:
    """Note on the branch of a run that it has read a table."""
    return ManifestRow(
        object_id=f"{RUN_READ}${table_key}", object_type=RUN_READ, table_key=table_key
    )


def rows_to_arrow(rows: Iterable[ManifestRow]) -> pa.Table:
    """Write rows down as they are stored."""
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
