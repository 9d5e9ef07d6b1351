"""Several real processes that work on one repository at the same time.

A module that children import: what they run must be importable under its name.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import attrs
import pyarrow as pa
from racing import at_once
from sizes import sized

from omnigraph_l2 import GraphSchema, NodeType, Repository

__all__ = ["Location", "assert_linear", "at_once", "ids_of", "scaled", "tables"]


def scaled(full: int) -> int:
    """Return the full size, or the part of it that runs by default."""
    return sized(max(1, full // 20), full)


@attrs.frozen
class Location:
    """Where a repository is."""

    uri: str
    options: Mapping[str, str] | None

    @property
    def is_local(self) -> bool:
        """Whether it is on local disk."""
        return self.options is None

    def make(self, schema: GraphSchema) -> Repository:
        """Make the repository."""
        return Repository.init(self.uri, schema, storage_options=self.options)

    def open(self, actor: str | None = None) -> Repository:
        """Open the repository."""
        return Repository.open(self.uri, storage_options=self.options, actor=actor)


def tables(count: int) -> GraphSchema:
    """Declare some node types that are alike: ``node:T0`` and so on."""
    return GraphSchema(nodes=[NodeType(f"T{n}", {"value": pa.int64()}) for n in range(count)])


def assert_linear(repository: Repository, commits: int) -> None:
    """One parent chain, without a hole or a fork, of just so many commits beside the genesis."""
    log = repository.log()
    assert len(log) == commits + 1
    assert len({commit.graph_commit_id for commit in log}) == commits + 1
    for commit, parent in itertools.pairwise(log):
        assert commit.parent_commit_id == parent.graph_commit_id
        assert commit.created_at > parent.created_at
    assert log[-1].parent_commit_id is None


def ids_of(repository: Repository, table_key: str) -> list[str]:
    """Read the ids of a table as they are now."""
    snapshot = repository.snapshot()
    found: list[str] = snapshot.read(table_key, columns=["id"]).column("id").to_pylist()
    assert snapshot.tables[table_key].row_count == len(found)
    return found
