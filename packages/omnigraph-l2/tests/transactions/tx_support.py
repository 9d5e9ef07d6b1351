"""A small repository, what it holds, and what other processes do to it."""

from __future__ import annotations

import os
import pickle
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository, Staged

PERSON, CITY, KNOWS, LIVES = "node:Person", "node:City", "edge:Knows", "edge:Lives"
SCHEMA = GraphSchema(
    nodes=[NodeType("City"), NodeType("Person", {"name": pa.string(), "age": pa.int32()})],
    edges=[EdgeType("Knows", "Person", "Person"), EdgeType("Lives", "Person", "City")],
)


def made(location: Path) -> Repository:
    """Make the repository."""
    repo = Repository.init(location, SCHEMA, durability="none")
    with repo.transaction() as tx:
        tx.append(PERSON, [{"id": "a", "name": "Ann", "age": 1}, {"id": "b", "age": 2}])
        tx.append(KNOWS, [edge("e", "a", "b")])
    return repo


def edge(name: str, src: str, dst: str) -> dict[str, str]:
    """Make an edge."""
    return {"id": name, "src": src, "dst": dst}


def ids(repo: Repository, table_key: str) -> list[str]:
    """List the ids of a table, sorted, each as often as it stands there."""
    column = repo.snapshot().read(table_key, columns=["id"])["id"]
    return sorted(column.to_pylist())


def add(repo: Repository, *names: str, table_key: str = PERSON) -> None:
    """Publish rows by a transaction of its own."""
    with repo.transaction() as tx:
        tx.append(table_key, [{"id": name} for name in names])


def stranger(repo: Repository, table_key: str, name: str = "stranger") -> None:
    """Append to a table's dataset by plain lance, published by nobody."""
    entry = repo.snapshot().tables[table_key]
    dataset = lance.dataset(os.path.join(repo.uri, entry.table_path))  # noqa: PTH118
    row = {
        column: name if column in {"id", "src", "dst"} else None for column in dataset.schema.names
    }
    lance.write_dataset(pa.Table.from_pylist([row], schema=dataset.schema), dataset, mode="append")


def write_elsewhere(target: bytes, rows: list[dict[str, Any]]) -> bytes:
    """Write rows in this process for the transaction of another one."""
    staged: Staged = pickle.loads(target).write(rows)
    return pickle.dumps(staged)


def load_once(location: str) -> tuple[str, bool]:
    """Do an operation that has a name."""
    with (
        Repository.open(location, durability="none") as repo,
        repo.transaction(operation_hash="load 1", actor="other") as tx,
    ):
        tx.append(PERSON, [{"id": "loaded"}])
        repeat = tx.is_repeat
    assert tx.commit is not None
    return tx.commit.graph_commit_id, repeat


def delete_together(location: str, predicate: str, met: Barrier) -> None:
    """Delete by a filter, and publish when the other process has found its rows, too."""
    with Repository.open(location, durability="none") as repo, repo.transaction() as tx:
        tx.delete(PERSON, predicate)
        met.wait(60)
