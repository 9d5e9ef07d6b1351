"""The graph of these tests, and what other processes do with runs.

A test module has no name that another process can import; this module has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph_l1 import Table
from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository, Run
from omnigraph_l2.errors import RunConflict

PERSON = "node:Person"
COMPANY = "node:Company"
TOWN = "node:Town"
KNOWS = "edge:Knows"
SCHEMA = GraphSchema(
    nodes=[
        NodeType("Person", {"age": pa.int32(), "nick": pa.string()}),
        NodeType("Company", {"name": pa.string()}),
        NodeType("Town", {}),
    ],
    edges=[EdgeType("Knows", "Person", "Person", {})],
)
OPERATION = "load of monday"


def fill_in(repo: Repository) -> None:
    """Put four people and an edge in."""
    with repo.transaction() as tx:
        tx.append(PERSON, [{"id": each, "age": 1} for each in ("ann", "bob", "cat", "dan")])
        tx.append(KNOWS, [{"id": "e", "src": "ann", "dst": "bob"}])


def ages(repo: Repository, branch: str = "main") -> dict[str, int | None]:
    """Give the age of each person."""
    rows = repo.snapshot(branch).read(PERSON).to_pylist()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row["age"] for row in sorted(rows, key=lambda row: str(row["id"]))}


def ids(repo: Repository, key: str, branch: str = "main") -> list[str]:
    """Give the ids of a table, sorted."""
    return sorted(repo.snapshot(branch).read(key)["id"].to_pylist())


AFTER_WORK = {"ann": 50, "bob": 1, "dan": 1, "eve": 5}


def work(run: Run) -> None:
    """Change, add and delete in two transactions, of two tables."""
    with run.transaction(check_edges=False) as tx:
        tx.upsert(PERSON, [{"id": "ann", "age": 50}, {"id": "eve", "age": 5}])
        tx.delete(PERSON, ids=["cat"])
    with run.transaction() as tx:
        tx.append(COMPANY, [{"id": "co"}])


def left_behind(repo: Repository) -> set[str]:
    """Name the branches of runs that a repository on local disk still has, in any dataset."""
    datasets = [*Path(repo.uri).glob("*/_versions"), *Path(repo.uri).glob("*/*/_versions")]
    found = {name for each in datasets for name in Table.open(each.parent).branches()}
    return {name for name in found if name.startswith("__run__")}


def fill(location: Path) -> list[str]:
    """Make a repository to be killed in."""
    with Repository.init(location / "repo", SCHEMA, durability="none") as repo:
        fill_in(repo)
    return [str(location / "repo")]


def fill_with_run(location: Path) -> list[str]:
    """Make one with a run that has done its work."""
    (uri,) = fill(location)
    with Repository.open(uri, durability="none") as repo:
        run = repo.runs.begin(operation_hash=OPERATION, actor="ann")
        work(run)
    return [uri, run.run_id]


def fill_with_moved_target(location: Path) -> list[str]:
    """Make one in which the target has moved, where the run does not look."""
    uri, run_id = fill_with_run(location)
    with Repository.open(uri, durability="none") as repo, repo.transaction() as tx:
        tx.append(TOWN, [{"id": "oslo"}])
    return [uri, run_id]


def begin(uri: str) -> str:
    """Begin a run."""
    with Repository.open(uri, durability="none") as repo:
        return repo.runs.begin(operation_hash=OPERATION, actor="ann").run_id


def do_work(uri: str) -> None:
    """Begin, work, read, and do not publish."""
    with Repository.open(uri, durability="none") as repo:
        run = repo.runs.begin(operation_hash=OPERATION)
        work(run)
        with run.transaction() as tx:
            tx.read(TOWN)


def publish(uri: str, run_id: str) -> None:
    """Publish a run."""
    with Repository.open(uri, durability="none") as repo:
        repo.runs.get(run_id).publish("done")


def abort(uri: str, run_id: str) -> None:
    """Abort a run."""
    with Repository.open(uri, durability="none") as repo:
        repo.runs.get(run_id).abort()


def fail(uri: str, run_id: str) -> None:
    """Let a run fail."""
    with Repository.open(uri, durability="none") as repo:
        repo.runs.get(run_id).fail("no disk")


def race_to_publish(
    uri: str, options: dict[str, str] | None, run_id: str, start: Any
) -> str | None:
    """Publish a run at the same time as others; return the commit."""
    with Repository.open(uri, options, durability="none") as repo:
        run = repo.runs.get(run_id)
        start.wait()
        commit = run.publish()
    return None if commit is None else commit.graph_commit_id


def race_to_begin(uri: str, options: dict[str, str] | None, start: Any) -> str:
    """Begin one operation at the same time as others; return the run."""
    with Repository.open(uri, options, durability="none") as repo:
        start.wait()
        return repo.runs.begin(operation_hash=OPERATION).run_id


def run_until_published(uri: str, number: int, start: Any) -> None:
    """Count up a row in a run, again after each conflict, beside others that do the same."""
    with Repository.open(uri, durability="none") as repo:
        start.wait()
        while True:
            run = repo.runs.begin(actor=f"p{number}")
            with run.transaction(check_edges=False) as tx:
                age = tx.read(PERSON, filter="id = 'ann'")["age"][0].as_py()
                tx.upsert(PERSON, [{"id": "ann", "age": age + 1}])
            try:
                run.publish()
            except RunConflict:
                run.abort()
            else:
                break
