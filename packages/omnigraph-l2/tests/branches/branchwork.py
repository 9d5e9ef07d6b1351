"""The graph of these tests, and what other processes do to it.

A test module has no name that another process can import; this module has.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph_l1 import Table
from omnigraph_l2 import EdgeType, GraphCommit, GraphSchema, NodeType, Repository
from omnigraph_l2.errors import BranchExists, OmniGraphError, UnknownBranch

PERSON = "node:Person"
KNOWS = "edge:Knows"
SCHEMA = GraphSchema(
    nodes=[NodeType("Person", {"age": pa.int32()}), NodeType("Company", {"name": pa.string()})],
    edges=[EdgeType("Knows", "Person", "Person", {})],
)


def append(repo: Repository, *names: str, branch: str = "main") -> GraphCommit:
    """Add people."""
    with repo.transaction(branch) as tx:
        tx.append(PERSON, [{"id": name, "age": 1} for name in names])
    assert tx.commit is not None
    return tx.commit


def people(repo: Repository, branch: str = "main", **when: Any) -> str:
    """Name all people, sorted."""
    rows = repo.snapshot(branch, **when).read(PERSON)
    return " ".join(sorted(rows["id"].to_pylist()))


def ids_of_log(repo: Repository, branch: str) -> list[str]:
    """Give the commit ids of a branch, newest first."""
    return [commit.graph_commit_id for commit in repo.log(branch)]


def native_branches(repo: Repository, path: str) -> set[str]:
    """Name Lance's branches of a dataset of a repository on local disk."""
    return set(Table.open(Path(repo.uri) / path).branches())


def fill(place: Path) -> list[str]:
    """Make a repository to be killed in."""
    with Repository.init(place / "repo", SCHEMA, durability="none") as repo:
        append(repo, "ann", "bob")
    return [str(place / "repo")]


def fill_with_branch(place: Path) -> list[str]:
    """Make one with a branch that has written."""
    (uri,) = fill(place)
    with Repository.open(uri, durability="none") as repo:
        repo.branches.create("side")
        append(repo, "cat", branch="side")
    return [uri]


def create_side(uri: str) -> None:
    """Make a branch."""
    with Repository.open(uri, durability="none") as repo:
        repo.branches.create("side")


def delete_side(uri: str) -> None:
    """Delete it."""
    with Repository.open(uri, durability="none") as repo:
        repo.branches.delete("side")


def write_side(uri: str) -> None:
    """Write to it, to a table that it had not written to."""
    with Repository.open(uri, durability="none") as repo, repo.transaction("side") as tx:
        tx.append(PERSON, [{"id": "dan"}])
        tx.append("node:Company", [{"id": "co"}])


def race_to_create(uri: str, options: dict[str, str] | None, start: Any, told: Any) -> None:
    """Create one name at the same time as others; tell whether it was won."""
    with Repository.open(uri, options, durability="none") as repo:
        start.wait()
        try:
            made = repo.branches.create("contested")
        except BranchExists:
            told.put(None)
        else:
            told.put(made.native_branch)


def race_to_write(uri: str, name: str, start: Any) -> None:
    """Append on a branch at the same time as others, to a table that is not forked yet."""
    with Repository.open(uri, durability="none") as repo:
        start.wait()
        append(repo, name, branch="side")


def churn(uri: str, number: int, rounds: int, start: Any, told: Any) -> None:
    """Create, write to, and delete one name beside others; tell what was unexpected.

    Who has done nothing goes on: left alone, it does.
    """
    unexpected: list[str] = []
    done = 0
    turns = count()
    with Repository.open(uri, durability="none") as repo:
        start.wait()
        while (turn := next(turns)) < rounds or not (done or unexpected):
            try:
                if turn % 3 == 0:
                    repo.branches.create("contested")
                elif turn % 3 == 1:
                    append(repo, f"p{number}-{turn}", branch="contested")
                else:
                    repo.branches.delete("contested")
                done += 1
            except (BranchExists, UnknownBranch):
                continue
            except OmniGraphError as error:
                unexpected.append(f"{type(error).__name__}: {error}")
    told.put((done, unexpected))
