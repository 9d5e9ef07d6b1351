"""What other processes do with branches.

A test module has no name that another process can import; this module has.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

from small_graph import PERSON, append, fill

from omnigraph_l2 import Repository
from omnigraph_l2.errors import BranchExists, OmniGraphError, UnknownBranch

KNOWS = "edge:Knows"
_BEFORE_DELETION = 6


def ids_of_log(repo: Repository, branch: str) -> list[str]:
    """Give the commit ids of a branch, newest first."""
    return [commit.graph_commit_id for commit in repo.log(branch)]


def fill_with_branch(location: Path) -> list[str]:
    """Make one with a branch that has written."""
    (uri,) = fill(location)
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


def race_to_create(uri: str, options: dict[str, str] | None, start: Any) -> str | None:
    """Create one name at the same time as others; return its native name if it was won."""
    with Repository.open(uri, options, durability="none") as repo:
        start.wait()
        try:
            return repo.branches.create("contested").native_branch
        except BranchExists:
            return None


def race_to_write(uri: str, name: str, start: Any) -> None:
    """Append on a branch at the same time as others, to a table that is not forked yet."""
    with Repository.open(uri, durability="none") as repo:
        start.wait()
        append(repo, name, branch="side")


def churn(location: dict[str, Any], number: int, rounds: int, start: Any) -> tuple[int, list[str]]:
    """Create, write to, and delete one name as others do; return what was unexpected.

    Who has done nothing goes on: left alone, it does.
    """
    unexpected: list[str] = []
    done = 0
    turns = count()
    with Repository.open(**location) as repo:
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
    return done, unexpected


def race_to_write_or_delete(
    uri: str, options: dict[str, str] | None, name: str | None, start: Any
) -> list[str]:
    """Write to a branch until it is deleted, by whom the name is None; return the commits.

    The commits of others go on while it is deleted: it waits for a few before it begins.
    """
    made: list[str] = []
    with Repository.open(uri, options, durability="none") as repo:
        start.wait()
        if name is None:
            while len(repo.log("side", limit=8)) < _BEFORE_DELETION:
                pass
            repo.branches.delete("side")
            return made
        try:
            for turn in count():
                commit = append(repo, f"{name}{turn}", branch="side")
                made.append(commit.graph_commit_id)
        except UnknownBranch:
            return made
    raise AssertionError
