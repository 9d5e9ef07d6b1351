"""The graph of the tests of branches, tags and upkeep. Other processes import it, too."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph_l1 import Table
from omnigraph_l2 import EdgeType, GraphCommit, GraphSchema, NodeType, Repository

__all__ = [
    "COMPANY",
    "PERSON",
    "SCHEMA",
    "append",
    "fill",
    "leased",
    "native_branches",
    "people",
    "written_together",
]

PERSON = "node:Person"
COMPANY = "node:Company"
SCHEMA = GraphSchema(
    nodes=[NodeType("Person", {"age": pa.int32()}), NodeType("Company", {"name": pa.string()})],
    edges=[EdgeType("Knows", "Person", "Person", {})],
)
_DEADLINE = 30


def append(repo: Repository, *names: str, branch: str = "main") -> GraphCommit:
    """Add people."""
    with repo.transaction(branch) as tx:
        tx.append(PERSON, [{"id": name, "age": 1} for name in names])
    assert tx.commit is not None
    return tx.commit


def leased(repo: Repository) -> Repository:
    """Let a handle lease what it reads at once, and its cleanups keep nothing for short reads."""
    repo._leases.short_read_seconds = 0.0
    return repo


def people(repo: Repository, branch: str = "main", **when: Any) -> str:
    """Name all people, sorted."""
    return " ".join(sorted(repo.snapshot(branch, **when).read(PERSON)["id"].to_pylist()))


def native_branches(repo: Repository, path: str) -> set[str]:
    """Name Lance's branches of a dataset of a repository."""
    return set(Table.open(repo._root.child(path)).branches())


def fill(location: Path) -> list[str]:
    """Make a repository to be killed in."""
    with Repository.init(location / "repo", SCHEMA, durability="none") as repo:
        append(repo, "ann", "bob")
    return [str(location / "repo")]


def written_together(repo: Repository, *keys: str) -> list[str]:
    """Publish a commit for each of these tables, all in one write; give their ids, in order."""

    def add(key: str) -> None:
        with repo.transaction(check_edges=False) as tx:
            tx.append(key, [{"id": "new"}])

    publisher = repo._branch("main")._loop.publisher
    threads = [threading.Thread(target=add, args=(key,)) for key in keys]
    with publisher._leading:
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + _DEADLINE
        while len(publisher._queue) < len(threads):
            assert time.monotonic() < deadline
    for thread in threads:
        thread.join(_DEADLINE)
    commits = repo.log(limit=len(keys))[::-1]
    assert len({commit.manifest_version for commit in commits}) == 1
    return [commit.graph_commit_id for commit in commits]
