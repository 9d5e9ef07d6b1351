"""Catalogs of internal schema version 1, written by plain lance as the first publishers did.

The tests of this folder migrate a catalog without a repository around it: so each damage, branch
and interruption is one write of plain Lance. They get the private module from here; how a
repository migrates is tested in ``tests/opening``. Other processes import this module, too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

from omnigraph_l1 import Durability, Storage, Table
from omnigraph_l2._catalog.manifest_rows import MANIFEST_SCHEMA
from omnigraph_l2._store import migrations
from omnigraph_l2._store.migrations import (
    check_internal_schema,
    migrate_internal_schema,
    stamp,
    stamp_schema,
)

__all__ = [
    "IDS",
    "KEY",
    "KNOWS",
    "MANIFEST_SCHEMA",
    "NEWEST",
    "PERSON",
    "ROWS",
    "STAMP",
    "VERSION_1",
    "arrow",
    "check_internal_schema",
    "contents",
    "ids",
    "migrate_at_once",
    "migrate_internal_schema",
    "migrations",
    "plain",
    "stamp",
    "stamp_schema",
    "tree",
    "version_row",
    "write_old",
]

NEWEST = migrations.INTERNAL_MANIFEST_SCHEMA_VERSION
STAMP = "omnigraph:internal_schema_version"
KEY = "lance-schema:unenforced-primary-key"
VERSION_1 = pa.schema([field.remove_metadata() for field in MANIFEST_SCHEMA])

PERSON = {
    "object_id": "node:Person",
    "object_type": "table",
    "location": "nodes/40d76f1f51639ec0",
    "table_key": "node:Person",
}
KNOWS = {
    "object_id": "edge:Knows",
    "object_type": "table",
    "location": "edges/602a25a3bd0b455b",
    "table_key": "edge:Knows",
}


def version_row(number: int, *, rows: int = 0) -> dict[str, Any]:
    """Make a row that shows a version of the persons."""
    metadata = {"manifest_path": f"nodes/x/_versions/{number}.manifest", "naming_scheme": "V2"}
    return {
        "object_id": f"node:Person${number:020d}",
        "object_type": "table_version",
        "metadata": json.dumps({**metadata, "manifest_size": None, "e_tag": None}),
        "table_key": "node:Person",
        "table_version": number,
        "row_count": rows,
    }


ROWS = [PERSON, KNOWS, version_row(1), version_row(2, rows=3)]
IDS = sorted(row["object_id"] for row in ROWS)


def arrow(rows: list[dict[str, Any]], schema: pa.Schema = VERSION_1) -> pa.Table:
    """Make rows of Arrow."""
    return pa.Table.from_pylist(rows, schema=schema)


def write_old(
    storage: Storage, *parts: list[dict[str, Any]], stable_row_ids: bool = True
) -> lance.LanceDataset:
    """Write a catalog of version 1: each list of rows was a publish of its own."""
    options = storage.lance_options
    dataset = None
    for part in parts:
        dataset = lance.write_dataset(
            arrow(part),
            storage.location.uri if dataset is None else dataset,
            mode="create" if dataset is None else "append",
            data_storage_version="2.2",
            enable_stable_row_ids=stable_row_ids,
            enable_v2_manifest_paths=True,
            storage_options=options,
        )
    assert dataset is not None
    dataset.update_config({"table_version_management": "true"})
    return dataset


def plain(table: Table) -> lance.LanceDataset:
    """Open what a table shows with plain lance, at the head of its branch."""
    options = table._pinned.storage.lance_options
    dataset = lance.dataset(table.location.uri, storage_options=options)
    return dataset if table.branch is None else dataset.checkout_version((table.branch, None))


def ids(table: Table) -> list[str]:
    """Give the object ids of a catalog, sorted, each as often as it stands there."""
    return sorted(table.read(columns=["object_id"])["object_id"].to_pylist())


def contents(table: Table) -> list[dict[str, Any]]:
    """Give the rows of a catalog, sorted."""
    return sorted(table.read().to_pylist(), key=lambda row: json.dumps(row, sort_keys=True))


def tree(location: Path) -> dict[str, tuple[int, int, bytes]]:
    """Give each file below a directory: time, size and content."""
    return {
        str(path.relative_to(location)): (
            path.stat().st_mtime_ns,
            path.stat().st_size,
            path.read_bytes(),
        )
        for path in sorted(location.rglob("*"))
        if path.is_file()
    }


def migrate_at_once(storage: Storage, branch: str | None, start: Any) -> None:
    """Open an old catalog together with others, and migrate it."""
    table = Table.open(storage, branch=branch, durability=Durability.NONE)
    start.wait()
    migrate_internal_schema(table)
