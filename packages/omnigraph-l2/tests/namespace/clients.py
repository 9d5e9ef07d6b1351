"""What a client of Lance's namespaces does, and what lies in a table that nobody published."""

from __future__ import annotations

from typing import Any

import lance
import pyarrow as pa
from small_graph import PERSON

from omnigraph_l2 import Repository
from omnigraph_l2.namespace import GraphNamespace

__all__ = ["leave_unpublished", "opened", "people_of", "rows"]


def opened(namespace: GraphNamespace, *table_id: str, **how: Any) -> lance.LanceDataset:
    """Open a table by name, as any program with Lance does."""
    return lance.dataset(namespace_client=namespace, table_id=[*table_id, PERSON], **how)


def people_of(dataset: Any) -> str:
    """Name the people, sorted."""
    return " ".join(sorted(dataset.to_table()["id"].to_pylist()))


def rows(*names: str) -> pa.Table:
    """Make people."""
    return pa.table({"id": names, "age": pa.array([1] * len(names), pa.int32())}).cast(
        pa.schema([pa.field("id", pa.string(), nullable=False), ("age", pa.int32())])
    )


def leave_unpublished(repo: Repository, branch: str = "main") -> int:
    """Put rows into a table as a writer that dies before it publishes; give the version."""
    dataset = repo.snapshot(branch).dataset(PERSON)
    dataset.insert(rows("ghost"))
    return int(dataset.version)
