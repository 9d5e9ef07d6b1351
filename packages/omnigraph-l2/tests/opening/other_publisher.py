"""A publisher by plain lance and the specification alone: it writes no ``publish`` rows.

Nothing of omnigraph is imported here, so that what both agree on is on disk.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

_KEY = {"lance-schema:unenforced-primary-key": "true"}


def _needed(name: str, type_: pa.DataType, **metadata: str) -> pa.Field:
    return pa.field(name, type_, nullable=False, metadata=metadata or None)


MANIFEST = pa.schema(
    [
        pa.field("object_id", pa.string(), nullable=False, metadata=_KEY),
        _needed("object_type", pa.string()),
        pa.field("location", pa.string()),
        pa.field("metadata", pa.string()),
        pa.field("base_objects", pa.list_(pa.string())),
        _needed("table_key", pa.string()),
        pa.field("table_version", pa.uint64()),
        pa.field("table_branch", pa.string()),
        pa.field("row_count", pa.uint64()),
    ],
    metadata={"omnigraph:internal_schema_version": "2"},
)
COMMITS = pa.schema(
    [
        _needed("graph_commit_id", pa.string()),
        pa.field("manifest_branch", pa.string()),
        _needed("manifest_version", pa.uint64()),
        pa.field("parent_commit_id", pa.string()),
        pa.field("merged_parent_commit_id", pa.string()),
        _needed("created_at", pa.timestamp("us")),
    ]
)
PEOPLE = pa.schema([_needed("id", pa.string()), pa.field("name", pa.string())])
KNOWS = pa.schema([_needed(name, pa.string()) for name in ("id", "src", "dst")])
PATHS = {"node:Person": "nodes/40d76f1f51639ec0", "edge:Knows": "edges/602a25a3bd0b455b"}


class OtherPublisher:
    """A repository that such a publisher writes and reads."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def create(self, *, version: int = 2) -> None:
        """Make a repository: two tables, a first commit, and nothing that is ours."""
        self._write(PATHS["node:Person"], PEOPLE.empty_table())
        self._write(PATHS["edge:Knows"], KNOWS.empty_table())
        rows = [row for key in PATHS for row in (self._table_row(key), self.version_row(key, 1, 0))]
        schema = MANIFEST
        if version == 1:
            schema = pa.schema([field.remove_metadata() for field in MANIFEST])
        manifest = self._write("__manifest", pa.Table.from_pylist(rows, schema=schema))
        manifest.update_config({"table_version_management": "true"})
        self._write("_graph_commits.lance", COMMITS.empty_table())
        self.log("genesis", parent=None, version=1)

    def publish(self, table_key: str, rows: list[dict[str, Any]], commit_id: str) -> None:
        """Append to a table whose head is its pinned version, publish it, and log it after that."""
        entry = self.tables()[table_key]
        dataset = lance.dataset(str(self.root / entry["location"]))
        assert dataset.version == entry["table_version"], "it writes only on the pinned version"
        schema = PEOPLE if table_key == "node:Person" else KNOWS
        dataset = lance.write_dataset(
            pa.Table.from_pylist(rows, schema=schema), dataset, mode="append"
        )
        parent = self.commits()[-1]["graph_commit_id"]
        version = self.merge([self.version_row(table_key, dataset.version, dataset.count_rows())])
        self.log(commit_id, parent=parent, version=version)

    def merge(self, rows: list[dict[str, Any]]) -> int:
        """Write rows of the catalog; give the version that shows them."""
        manifest = self.manifest()
        if not manifest.schema.field("object_id").metadata:
            lance.write_dataset(
                pa.Table.from_pylist(rows, schema=manifest.schema), manifest, mode="append"
            )
        else:
            (
                manifest.merge_insert("object_id")
                .when_matched_update_all()
                .when_not_matched_insert_all()
                .conflict_retries(0)
                .use_index(use_index=False)
                .execute(pa.Table.from_pylist(rows, schema=manifest.schema))
            )
        return self.manifest().version

    def log(self, commit_id: str, *, parent: str | None, version: int) -> None:
        """Append a commit to the log."""
        row = {
            "graph_commit_id": commit_id,
            "manifest_version": version,
            "parent_commit_id": parent,
            "created_at": datetime(2020, 1, 1, second=version % 60),  # noqa: DTZ001 - as stored
        }
        log = lance.dataset(str(self.root / "_graph_commits.lance"))
        lance.write_dataset(pa.Table.from_pylist([row], schema=COMMITS), log, mode="append")

    def manifest(self) -> lance.LanceDataset:
        """Open the catalog."""
        return lance.dataset(str(self.root / "__manifest"))

    def tables(self) -> dict[str, dict[str, Any]]:
        """Read the catalog by the rule of version 2, skipping whatever is not known to it."""
        rows = self.manifest().to_table().to_pylist()
        found = {}
        for registration in rows:
            if registration["object_type"] != "table":
                continue
            key = registration["table_key"]
            gone = [
                row["table_version"]
                for row in rows
                if row["object_type"] == "table_tombstone" and row["table_key"] == key
            ]
            versions = [
                row
                for row in rows
                if row["object_type"] == "table_version"
                and row["table_key"] == key
                and row["table_version"] > max(gone, default=-1)
            ]
            if versions:
                newest = max(versions, key=lambda row: row["table_version"])
                found[key] = {**newest, "location": registration["location"]}
        return found

    def read(self, table_key: str) -> list[dict[str, Any]]:
        """Read a table at its pinned version, by the manifest path that its row has."""
        entry = self.tables()[table_key]
        facts = json.loads(entry["metadata"])
        assert facts["naming_scheme"] == "V2"
        assert facts["manifest_size"] is None or isinstance(facts["manifest_size"], int)
        assert facts["e_tag"] is None or isinstance(facts["e_tag"], str)
        assert Path("/", facts["manifest_path"]).is_file()
        assert str(self.root / entry["location"]).lstrip("/") in facts["manifest_path"]
        dataset = lance.dataset(str(self.root / entry["location"]), version=entry["table_version"])
        assert dataset.count_rows() == entry["row_count"]
        return sorted(dataset.to_table().to_pylist(), key=lambda row: row["id"])

    def commits(self) -> list[dict[str, Any]]:
        """Read the log, oldest first."""
        rows = lance.dataset(str(self.root / "_graph_commits.lance")).to_table().to_pylist()
        return sorted(rows, key=lambda row: row["manifest_version"])

    def version_row(self, table_key: str, version: int, rows: int) -> dict[str, Any]:
        """Make the row of a version, with no word of ours in it."""
        path = self.root / PATHS[table_key] / "_versions" / f"{2**64 - 1 - version:020d}.manifest"
        facts = {
            "manifest_path": str(path).lstrip("/"),
            "manifest_size": None,
            "e_tag": None,
            "naming_scheme": "V2",
        }
        return {
            "object_id": f"{table_key}${version:020d}",
            "object_type": "table_version",
            "metadata": json.dumps(facts),
            "table_key": table_key,
            "table_version": version,
            "row_count": rows,
        }

    def _table_row(self, table_key: str) -> dict[str, Any]:
        return {
            "object_id": table_key,
            "object_type": "table",
            "location": PATHS[table_key],
            "table_key": table_key,
        }

    def _write(self, path: str, data: pa.Table) -> lance.LanceDataset:
        return lance.write_dataset(
            data,
            str(self.root / path),
            data_storage_version="2.2",
            enable_stable_row_ids=True,
            enable_v2_manifest_paths=True,
        )
