"""Snapshots: found by whatever names a moment, and equal to themselves for as long as they live."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from omnigraph_l1.failpoints import handling
from omnigraph_l2 import (
    GraphCommit,
    GraphSchema,
    NodeType,
    Repository,
    Snapshot,
    TransactionKind,
)
from omnigraph_l2.errors import (
    InvalidRequest,
    OmniGraphError,
    UnknownBranch,
    UnknownCommit,
    UnknownTable,
    UnknownVersion,
)

TABLES = ("node:A", "node:B", "node:C", "node:D")
MICROSECOND = timedelta(microseconds=1)
DEADLINE = 30


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    """A repository with four tables."""
    schema = GraphSchema(nodes=[NodeType(key.partition(":")[2]) for key in TABLES])
    with Repository.init(tmp_path / "repo", schema, durability="none") as made:
        yield made


def add(repo: Repository, table_key: str, *names: str) -> GraphCommit:
    """Publish rows."""
    with repo.transaction() as tx:
        tx.append(table_key, [{"id": name} for name in names])
    assert tx.commit is not None
    return tx.commit


def contents(snapshot: Snapshot) -> dict[str, list[str]]:
    """Read everything, through each way of reading."""
    found = {}
    for key, entry in snapshot.tables.items():
        rows = sorted(snapshot.read(key)["id"].to_pylist())
        assert snapshot.scan(key, batch_size=2).read_all().num_rows == entry.row_count
        assert snapshot.dataset(key).count_rows() == entry.row_count == len(rows)
        assert snapshot.dataset(key).version == entry.table_version
        assert sorted(snapshot.find(key, [*rows, "nobody"])["id"].to_pylist()) == rows
        found[key] = rows
    return found


def test_each_name_of_a_moment(repo: Repository) -> None:
    """Head, version, commit and time of one commit are the same snapshot."""
    commits = [repo.log()[0], *(add(repo, "node:A", f"r{n}") for n in range(4))]
    for number, commit in enumerate(commits):
        wanted = [f"r{n}" for n in range(number)]
        later = commits[number + 1].created_at if number < 4 else None
        moments: list[dict[str, Any]] = [
            {"version": commit.manifest_version},
            {"commit": commit.graph_commit_id},
            {"as_of": commit.created_at},
            {"as_of": commit.created_at.astimezone(timezone(timedelta(hours=5)))},
            {"as_of": later - MICROSECOND if later else commit.created_at + timedelta(days=9)},
        ]
        for moment in moments if number < 4 else [*moments, {}]:
            found = repo.snapshot(**moment)
            assert found.read("node:A")["id"].to_pylist() == wanted, moment
            assert found.commit == commit
            assert found.version == commit.manifest_version
            assert found.branch == "main"


def test_moments_that_are_not_there(repo: Repository) -> None:
    """What was asked for, or a typed error that names it: never something near it."""
    first = repo.log()[-1]
    with pytest.raises(UnknownVersion):
        repo.snapshot(as_of=first.created_at - MICROSECOND)
    for version in (0, -1, repo.snapshot().version + 1, 2**64, 10**30):
        with pytest.raises(UnknownVersion) as raised:
            repo.snapshot(version=version)
        assert raised.value.version == version
    for commit in ("", "'", "nobody", 5, b"x"):
        with pytest.raises(UnknownCommit):
            repo.snapshot(commit=commit)  # type: ignore[arg-type]
        with pytest.raises(UnknownCommit):
            repo.commit(commit)  # type: ignore[arg-type]
    wrong: list[dict[str, Any]] = [
        {"version": True},
        {"version": "1"},
        {"version": 1.0},
        {"as_of": datetime(2030, 1, 1)},  # noqa: DTZ001 - that is what is wrong with it
        {"as_of": "yesterday"},
        {"version": 1, "commit": first.graph_commit_id},
        {"commit": first.graph_commit_id, "as_of": first.created_at},
    ]
    for moment in wrong:
        with pytest.raises(InvalidRequest):
            repo.snapshot(**moment)
    with pytest.raises(UnknownBranch):
        repo.snapshot("nope")
    for name in ("../x", "", "a b", 5):
        with pytest.raises(OmniGraphError):
            repo.snapshot(name)  # type: ignore[arg-type]
    for limit in (-1, 1.5, "1", True):
        with pytest.raises(InvalidRequest):
            repo.log(limit=limit)  # type: ignore[arg-type]
    assert repo.log(limit=0) == []
    with pytest.raises(UnknownTable) as told:
        repo.snapshot().read("node:Z")
    assert told.value.known == TABLES


def test_commits_of_one_write_are_told_apart(repo: Repository) -> None:
    """Three threads publish at once: one leads for the other two, and each commit is exact."""
    publisher = repo._branch("main")._loop.publisher
    first = threading.Event()

    def until_two_wait(point: str) -> None:
        if point != "l2.publish.planned" or first.is_set():
            return
        first.set()
        ends = time.monotonic() + DEADLINE
        pause = threading.Event()
        while len(publisher._queue) < 2:
            assert time.monotonic() < ends
            pause.wait(0.005)

    with handling(until_two_wait), ThreadPoolExecutor(3) as threads:
        leading = threads.submit(add, repo, "node:A", "a")
        assert first.wait(DEADLINE)
        others = [threads.submit(add, repo, key, key[-1]) for key in ("node:B", "node:C")]
        a, *rest = (each.result(DEADLINE) for each in (leading, *others))
    second, third = sorted(rest, key=lambda commit: commit.created_at)
    assert second.manifest_version == third.manifest_version > a.manifest_version
    assert third.parent_commit_id == second.graph_commit_id
    assert second.parent_commit_id == a.graph_commit_id
    after = add(repo, "node:D", "d")
    assert after.parent_commit_id == third.graph_commit_id
    for reader in (repo, Repository.open(repo.uri)):
        seen = [
            set().union(*contents(reader.snapshot(commit=commit.graph_commit_id)).values())
            for commit in (a, second, third, after)
        ]
        assert [len(each) for each in seen] == [1, 2, 3, 4]
        assert all(before < now for before, now in zip(seen, seen[1:], strict=False))  # noqa: RUF007
        at_second = reader.snapshot(as_of=second.created_at)
        assert at_second.commit == second
        assert at_second.tables == reader.snapshot(commit=second.graph_commit_id).tables
        assert reader.snapshot(version=third.manifest_version).commit == third
        assert [c.graph_commit_id for c in reader.log(limit=4)] == [
            c.graph_commit_id for c in (after, third, second, a)
        ]


def test_those_that_touch_each_other_are_not_combined_wrongly(repo: Repository) -> None:
    """Threads that append to one table at once lose nothing, and each gets a commit of its own."""
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda n: add(repo, "node:A", f"r{n}"), range(12)))
    assert len({commit.graph_commit_id for commit in made}) == 12
    assert repo.snapshot().read("node:A").num_rows == 12
    log = repo.log()
    assert len(log) == 13
    for after, before in zip(log[:-1], log[1:], strict=True):  # noqa: RUF007
        assert after.parent_commit_id == before.graph_commit_id
        assert after.created_at > before.created_at


def test_a_snapshot_stays_equal_to_itself(repo: Repository) -> None:
    """Others publish, overwrite, delete, and the catalog and the tables are compacted."""
    add(repo, "node:A", "x", "y")
    snapshot = repo.snapshot()
    before, tables, commit = contents(snapshot), dict(snapshot.tables), snapshot.commit
    reader = snapshot.scan("node:A", batch_size=1)
    points: set[str] = set()
    with handling(points.add), Repository.open(repo.uri, durability="none") as other:
        for number in range(70):
            add(other, "node:A", f"z{number}")
        with other.transaction() as tx:
            tx.overwrite("node:A", [])
            tx.append("node:B", [{"id": "b"}])
    assert "l2.catalog.compacted" in points
    assert contents(snapshot) == before
    assert (dict(snapshot.tables), snapshot.commit) == (tables, commit)
    assert sorted(reader.read_all()["id"].to_pylist()) == ["x", "y"]
    assert commit is not None
    again = Repository.open(repo.uri).snapshot(commit=commit.graph_commit_id)
    assert contents(again) == before
    assert repo.snapshot().read("node:A").num_rows == 0


def test_a_snapshot_tells_what_made_its_tables(repo: Repository) -> None:
    """What Lance did to a table up to the version here, the newest first; not what came later."""
    add(repo, "node:A", "ann")
    snapshot = repo.snapshot()
    with repo.transaction() as tx:
        tx.delete("node:A", ids=["ann"])
    assert [one.operation for one in snapshot.history("node:A")] == ["Append", "Overwrite"]
    newest = next(repo.snapshot().history("node:A", limit=1))
    assert newest.kind is TransactionKind.DELETE
    assert newest.version == repo.snapshot().tables["node:A"].table_version
    with pytest.raises(UnknownTable):
        snapshot.history("node:Nobody")
    with pytest.raises(InvalidRequest, match="invalid limit -1"):
        snapshot.history("node:A", limit=-1)
