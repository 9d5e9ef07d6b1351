"""A table whose version files have names of the old kind is a table like others."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa

from omnigraph_l1 import migrate_version_names, table_path
from omnigraph_l2 import GraphSchema, NodeType, RegisterTable, Repository, TableUpdate

A, B = "node:A", "node:B"
SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False)])


def test_it_is_read_written_and_kept_in_order(tmp_path: Path) -> None:
    """Made by other means, published, changed, compacted, cleaned; then renamed, and the same."""
    location = tmp_path / "repo"
    with Repository.init(location, GraphSchema(nodes=[NodeType("A")]), durability="none") as repo:
        rows = pa.table({"id": ["old"]}, schema=SCHEMA)
        lance.write_dataset(
            rows,
            location / table_path(B),
            enable_v2_manifest_paths=False,
            enable_stable_row_ids=True,
            data_storage_version="2.2",
        )
        repo.publish([
            RegisterTable(table_key=B, table_path=table_path(B)),
            TableUpdate(table_key=B, table_version=1, row_count=1),
        ])  # fmt: skip
        before = repo.snapshot()
        _change(repo, "new")
        repo.optimize()
        repo.branches.create("side")
        assert sorted(repo.snapshot("side").read(B)["id"].to_pylist()) == ["new", "old"]
        names = [path.name for path in (location / table_path(B) / "_versions").glob("*.manifest")]
        assert all(len(name) < 20 for name in names)
        assert before.read(B).num_rows == 1
        assert repo.verify().ok
    migrate_version_names(location / table_path(B))
    with Repository.open(location, durability="none") as repo:
        assert repo.verify().ok
        _change(repo, "newer")
        assert sorted(repo.snapshot().read(B)["id"].to_pylist()) == ["new", "newer", "old"]
        assert repo.snapshot("side").read(B).num_rows == 2


def _change(repo: Repository, name: str) -> None:
    with repo.transaction() as tx:
        tx.append(B, [{"id": name}])
