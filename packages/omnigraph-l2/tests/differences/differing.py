"""Graphs to compare, and what other processes do to them.

A module that children import: what they run must be importable under its name.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from omnigraph_l2 import Diff, EdgeType, GraphSchema, NodeType, Repository

PERSON, CITY, LIVES = "node:Person", "node:City", "edge:Lives"
SCHEMA = GraphSchema(
    nodes=[
        NodeType("Person", {"name": pa.string(), "age": pa.int32()}),
        NodeType("City", {"name": pa.string()}),
    ],
    edges=[EdgeType("Lives", "Person", "City")],
)
LARGE = GraphSchema(nodes=[NodeType("Thing", {"number": pa.int64(), "text": pa.string()})])
THING = "node:Thing"

Told = dict[str, tuple[str, dict[str, Any] | None, dict[str, Any] | None]]
_AT_ONCE = 250_000


def person(row_id: str, name: str | None = None, age: int | None = None) -> dict[str, Any]:
    """Make a person."""
    return {"id": row_id, "name": name, "age": age}


def add(repo: Repository, *rows: dict[str, Any], branch: str = "main") -> str:
    """Put people in; give the commit's id."""
    with repo.transaction(branch) as tx:
        tx.upsert(PERSON, list(rows))
    assert tx.commit is not None
    return tx.commit.graph_commit_id


def told(diff: Diff, table_key: str = PERSON) -> Told:
    """Read the rows that differ."""
    rows = diff.rows(table_key).read_all().to_pylist()
    found = {row["id"]: (row["change"], row["before"], row["after"]) for row in rows}
    assert len(found) == len(rows)
    return found


def contents(repo: Repository, **moment: Any) -> dict[str, dict[str, dict[str, Any]]]:
    """Read everything at a moment."""
    snapshot = repo.snapshot(**moment)
    return {
        key: {row["id"]: row for row in snapshot.read(key).to_pylist()} for key in snapshot.tables
    }


def write_often(uri: str, options: dict[str, str] | None, who: int, times: int) -> int:
    """Publish to two tables, as often as asked."""
    with Repository.open(uri, options) as repo:
        for turn in range(times):

            def work(tx: Any, turn: int = turn) -> None:
                tx.upsert(PERSON, [person(f"{who}-{turn}", age=turn), person(f"{who}", age=turn)])
                if turn % 3 == 0:
                    tx.upsert(CITY, [{"id": f"{who}-{turn}"}])

            repo.retry(work)
    return times


def write_or_follow(kind: str, location: Any, number: int, times: int) -> object:
    """Be one of those who write, or who follow. A process of its own calls this."""
    options = None if location.options is None else dict(location.options)
    if kind == "write":
        return write_often(location.uri, options, number, times)
    return follow(location.uri, options, number)


def follow(uri: str, options: dict[str, str] | None, commits: int) -> list[tuple[str, int]]:
    """Follow the feed from one cursor to the next until so many commits were seen."""
    seen: list[tuple[str, int]] = []
    cursor = None
    deadline = time.monotonic() + 300
    with Repository.open(uri, options) as repo:
        while len(seen) < commits and time.monotonic() < deadline:
            for change_set in repo.changes(since=cursor, limit=5):
                cursor = change_set.cursor
                seen.append(
                    (cursor, sum(each.inserted for each in change_set.diff.tables.values()))
                )
    return seen


def grow(uri: str, rows: int) -> None:
    """Make a large table, and change 100 rows of it."""
    with Repository.init(uri, LARGE, durability="none") as repo:
        with repo.transaction() as tx:
            tx.append(THING, pa.RecordBatchReader.from_batches(_SCHEMA, _batches(rows)))
        repo.tags.create("before")
        step = rows // 40
        with repo.transaction() as tx:
            chosen = range(5, 40 * step, step)
            tx.upsert(THING, [{"id": _id(n), "number": -1, "text": "new"} for n in chosen])
            tx.upsert(THING, [{"id": f"new {n}", "number": n, "text": "new"} for n in range(30)])
        with repo.transaction() as tx:
            tx.delete(THING, ids=[_id(number) for number in range(7, 30 * step, step)])


def compare(uri: str) -> tuple[tuple[int, int, int], int]:
    """Count and read what differs; give the counts, and how much memory the process took."""
    with Repository.open(uri, durability="none") as repo:
        diff = repo.diff("before", "main")
        found = diff.tables[THING]
        assert diff.rows(THING).read_all().num_rows == 100
    return (found.inserted, found.updated, found.deleted), peak()


def peak() -> int:
    """Tell how many bytes of memory this process had at most."""
    status = Path("/proc/self/status").read_text()
    line = next(each for each in status.splitlines() if each.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


_SCHEMA = LARGE[THING].arrow_schema


def _id(number: int) -> str:
    return f"t{number:08d}"


def _batches(rows: int) -> Any:
    for start in range(0, rows, _AT_ONCE):
        numbers = np.arange(start, min(start + _AT_ONCE, rows))
        ids = [_id(number) for number in numbers]
        texts = [f"text {number}" for number in numbers]
        yield pa.record_batch([ids, numbers, texts], schema=_SCHEMA)
