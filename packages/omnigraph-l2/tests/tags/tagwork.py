"""The graph of these tests, and what other processes do to it.

A test module has no name that another process can import; this module has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph_l2 import GraphCommit, GraphSchema, NodeType, Repository
from omnigraph_l2.errors import TagExists

PERSON = "node:Person"
SCHEMA = GraphSchema(
    nodes=[NodeType("Person", {"age": pa.int32()}), NodeType("Company", {"name": pa.string()})]
)


def append(repo: Repository, *names: str, branch: str = "main") -> GraphCommit:
    """Add people."""
    with repo.transaction(branch) as tx:
        tx.append(PERSON, [{"id": name, "age": 1} for name in names])
    assert tx.commit is not None
    return tx.commit


def people(repo: Repository, branch: str = "main", **when: Any) -> str:
    """Name all people, sorted."""
    return " ".join(sorted(repo.snapshot(branch, **when).read(PERSON)["id"].to_pylist()))


def names(repo: Repository) -> list[str]:
    """Name the tags."""
    return [each.name for each in repo.tags.list()]


def fill(place: Path) -> list[str]:
    """Make a repository to be killed in."""
    with Repository.init(place / "repo", SCHEMA, durability="none") as repo:
        append(repo, "ann", "bob")
    return [str(place / "repo")]


def tag_and_untag(uri: str) -> None:
    """Make a tag, and delete it."""
    with Repository.open(uri, durability="none") as repo:
        repo.tags.create("v1")
        repo.tags.delete("v1")


def race_to_tag(uri: str, commit_id: str, start: Any, told: Any) -> None:
    """Take one name at the same time as others; tell whether it was won."""
    with Repository.open(uri, durability="none") as repo:
        start.wait()
        try:
            told.put(repo.tags.create("v1", commit_id).graph_commit_id)
        except TagExists:
            told.put(None)
