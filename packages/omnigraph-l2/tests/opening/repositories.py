"""What other processes do to repositories, and what must hold of a whole one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, OmniGraphError, Repository

SCHEMA = GraphSchema(
    nodes=[NodeType("City"), NodeType("Person", {"name": pa.string()})],
    edges=[EdgeType("Knows", "Person", "Person", {"since": pa.date32()})],
)
ANOTHER = GraphSchema(nodes=[NodeType("Person", {"age": pa.int8()}), NodeType("Town")])


def init_it(location: Path) -> None:
    """Make a repository."""
    Repository.init(location / "repo", SCHEMA, actor="ann").close()


def use_it(location: str, options: dict[str, str] | None = None) -> None:
    """Make a repository, and use it."""
    with Repository.init(location, SCHEMA, options) as repo, repo.transaction() as tx:
        tx.append("node:Person", [{"id": "a"}, {"id": "b"}])
        tx.append("edge:Knows", [{"id": "e", "src": "a", "dst": "b"}])


def init_at_once(
    places: list[str],
    options: dict[str, str],
    schema: GraphSchema,
    name: str,
    barrier: Any,
) -> list[tuple[str, str, str]]:
    """Make repositories, each at the same moment as the other racer."""
    outcomes = []
    for location in places:
        barrier.wait()
        try:
            Repository.init(location, schema, options, actor=name).close()
        except OmniGraphError as error:
            outcomes.append((location, name, f"{type(error).__name__}: {error}"))
        else:
            outcomes.append((location, name, "made"))
    return outcomes


def assert_whole(
    location: Path | str, actors: list[str], options: dict[str, str] | None = None
) -> None:
    """One first commit, its tables, and a transaction that works."""
    with Repository.open(location, options, durability="none") as repo:
        (genesis,) = repo.log()
        assert genesis.actor_id in actors
        assert genesis.parent_commit_id is None
        assert repo.snapshot().schema == SCHEMA
        assert repo.snapshot(commit=genesis.graph_commit_id).tables == repo.snapshot().tables
        with repo.transaction() as tx:
            tx.append("node:Person", [{"id": "a"}])
            tx.append("edge:Knows", [{"id": "e", "src": "a", "dst": "a"}])
        assert tx.commit is not None
        assert tx.commit.parent_commit_id == genesis.graph_commit_id
        assert [commit.graph_commit_id for commit in repo.log()] == [
            tx.commit.graph_commit_id,
            genesis.graph_commit_id,
        ]
        assert repo.snapshot().read("node:Person").num_rows == 1
