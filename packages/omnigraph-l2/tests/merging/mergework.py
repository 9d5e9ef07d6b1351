"""The graph of these tests, and what is done to it in one line. Other processes import it too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph_l2 import EdgeType, GraphCommit, GraphSchema, NodeType, Repository

PERSON, KNOWS, COMPANY = "node:Person", "edge:Knows", "node:Company"
SCHEMA = GraphSchema(
    nodes=[
        NodeType("Person", {"age": pa.int32(), "city": pa.string()}),
        NodeType("Company", {"name": pa.string()}),
    ],
    edges=[
        EdgeType("Knows", "Person", "Person", {"since": pa.int32()}),
        EdgeType("Works", "Person", "Company"),
    ],
)

START = {"ann": 1, "bob": 1, "cat": 1}
"""How old people are when a test begins."""


def filled(repo: Repository) -> Repository:
    """Put three people and an edge in."""
    with repo.transaction() as tx:
        tx.append(
            PERSON, [{"id": name, "age": 1, "city": "Oslo"} for name in ("ann", "bob", "cat")]
        )
        tx.append(KNOWS, [{"id": "ab", "src": "ann", "dst": "bob", "since": 1}])
        tx.append(COMPANY, [{"id": "co", "name": "Co"}])
    return repo


def put(repo: Repository, branch: str, key: str = PERSON, **rows: Any) -> GraphCommit | None:
    """Change rows, by id: the value is an age, the whole row, or None to delete it."""
    with repo.transaction(branch) as tx:
        gone = [row_id for row_id, row in rows.items() if row is None]
        if gone:
            tx.delete(key, ids=gone)
        new = [
            {"id": row_id, **(row if isinstance(row, dict) else {"age": row, "city": "Oslo"})}
            for row_id, row in rows.items()
            if row is not None
        ]
        if new:
            tx.upsert(key, new)
    return tx.commit


def edge(source: str, target: str) -> dict[str, Any]:
    """Give an edge between people."""
    return {"src": source, "dst": target, "since": 1}


def rows(repo: Repository, key: str = PERSON, branch: str = "main") -> dict[str, Any]:
    """Read a table, by id."""
    return {row["id"]: row for row in repo.snapshot(branch).read(key).to_pylist()}


def ages(repo: Repository, branch: str = "main") -> dict[str, int]:
    """Read how old people are."""
    return {row_id: row["age"] for row_id, row in sorted(rows(repo, PERSON, branch).items())}


def diverged(location: Path) -> list[str]:
    """Make a repository with a branch, both of which have moved, to be killed in."""
    with Repository.init(location / "repo", SCHEMA, durability="none") as repo:
        filled(repo)
        repo.branches.create("side")
        put(repo, "side", ann=2, dan=4, cat=None)
        put(repo, "side", KNOWS, ad=edge("ann", "dan"))
        put(repo, "main", bob=3)
        types = [each for each in SCHEMA.types if each.table_key != "edge:Works"]
        repo.evolve(
            GraphSchema(
                nodes=[
                    *(each for each in types if isinstance(each, NodeType)),
                    NodeType("Pet", {"name": pa.string()}),
                ],
                edges=[each for each in types if isinstance(each, EdgeType)],
            ),
            branch="side",
        )
        with repo.transaction("side") as tx:
            tx.append("node:Pet", [{"id": "rex", "name": "Rex"}])
    return [str(location / "repo")]


def merge_side(uri: str) -> None:
    """Merge it."""
    with Repository.open(uri, durability="none") as repo:
        repo.branches.merge("side", message="the merge")


def revert_newest(uri: str) -> None:
    """Take the newest commit back."""
    with Repository.open(uri, durability="none") as repo:
        repo.revert(repo.log()[0].graph_commit_id, message="the revert")


def race_to_merge(uri: str, options: Any, number: int, start: Any) -> None:
    """Write to a branch and merge it, again and again, while others write."""
    with Repository.open(uri, options, durability="none") as repo:
        start.wait()
        for turn in range(3):
            put(repo, f"side-{number}", **{f"b-{number}-{turn}": turn})
            repo.branches.merge(f"side-{number}")


def race_to_write(uri: str, options: Any, number: int, start: Any) -> None:
    """Write to main at the same time."""
    with Repository.open(uri, options, durability="none") as repo:
        start.wait()
        for turn in range(3):
            put(repo, "main", **{f"w-{number}-{turn}": turn})


def without(*keys: str, more: tuple[Any, ...] = ()) -> GraphSchema:
    """Give the schema without some types, and with others, or with others of that name."""
    types = {each.table_key: each for each in (*SCHEMA.types, *more)}
    kept = [each for key, each in types.items() if key not in keys]
    return GraphSchema(
        nodes=[each for each in kept if isinstance(each, NodeType)],
        edges=[each for each in kept if isinstance(each, EdgeType)],
    )
