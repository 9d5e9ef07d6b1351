"""Jobs that look after a graph do what ``omnigraph_l2`` does, on executors."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from spark_graph import CITY, KNOWS, PERSON, everything, knows, made, person

from omnigraph_l1 import Table
from omnigraph_l2 import GraphSchema, MergeKind, NodeType, Repository, TableUpdate
from omnigraph_l2.errors import InvalidRequest, MergeConflicts, UnknownBranch, UnknownTable
from omnigraph_l2.reports import OptimizeOutcome, Severity
from omnigraph_spark import jobs

pytestmark = pytest.mark.spark


def unseen(repo: Repository, key: str, rows: list[dict[str, Any]]) -> None:
    """Publish rows that nobody has checked."""
    entry = repo.snapshot().tables[key]
    table = Table.open(f"{repo.uri}/{entry.table_path}", version=entry.table_version)
    made = table.append(pa.Table.from_pylist(rows, schema=table.schema)).table
    update = TableUpdate(
        table_key=key, table_version=made.version, row_count=made.count(), metadata={}
    )
    # As another program would that checks no rule.
    with mock.patch("omnigraph_l2._commit.commit_loop.check_integrity", return_value=frozenset()):
        repo.publish([update])
    repo.flush()


def found(report: Any) -> list[tuple[Severity, str, str]]:
    """Tell what was found, and where."""
    return sorted((each.severity, each.kind, each.subject) for each in report.findings)


def test_a_sound_graph(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing is found; what was looked at is told on the way."""
    lines: list[str] = []
    with made(tmp_path / "repo") as repo:
        repo.branches.create("side")
        with repo.transaction("side") as tx:
            tx.append(PERSON, [person("c")])
        repo.tags.create("v1")
        repo.flush()
        report = jobs.verify(
            spark, repo.uri, dangling_edges=True, values=True, progress=lines.append
        )
        assert report == repo.verify(dangling_edges=True, values=True)
    assert report.ok
    assert sum("node:Person" in line and "id" not in line for line in lines) >= 2
    assert "nothing wrong" in str(report)


def test_damage(spark: SparkSession, tmp_path: Path) -> None:
    """Ids and values that stand twice, edges to nowhere, and files that cannot be read."""
    schema = GraphSchema(
        nodes=[NodeType("Person", {"_size": pa.uint64()}, unique=["_size"]), NodeType("City")],
    )
    with Repository.init(tmp_path / "repo", schema, durability="none") as repo:
        with repo.transaction() as tx:
            tx.append(PERSON, [{"id": "a", "_size": 2**64 - 1}, {"id": "b", "_size": None}])
            tx.append(CITY, [{"id": "rome"}])
        repo.branches.create("side")
        with repo.transaction("side") as tx:
            tx.append(PERSON, [{"id": "x", "_size": 2**64 - 2}])
        unseen(repo, PERSON, [{"id": "a", "_size": 2**64 - 1}, {"id": "c", "_size": None}])
        (data,) = Path(repo.uri, repo.snapshot().tables[CITY].table_path, "data").iterdir()
        data.write_bytes(data.read_bytes()[:-40])
        theirs = repo.verify(values=True)
        ours = jobs.verify(spark, repo.uri, values=True)
        kinds = [kind for _, kind, _ in found(ours)]
        assert kinds == [kind for _, kind, _ in found(theirs)]
        assert {"duplicate-id", "duplicate-value", "data-unreadable"} <= {*kinds}
        details = " ".join(each.detail for each in ours.findings)
        assert "'a'" in details
        assert str(2**64 - 1) in details
        some = jobs.verify(spark, repo.uri, tables=[PERSON])
        assert all(PERSON in each.subject for each in some.findings)
        with pytest.raises(UnknownTable):
            jobs.verify(spark, repo.uri, tables=["node:Nobody"])


def test_edges_to_nowhere(spark: SparkSession, tmp_path: Path) -> None:
    """They are found where a tag or a branch shows them, each once; ten are named, in order."""
    with made(tmp_path / "repo") as repo:
        ghosts = [knows(f"k{number}", "a", f"ghost {number}") for number in range(12)]
        unseen(repo, KNOWS, [*reversed(ghosts), knows("l", "nobody", "b")])
        repo.tags.create("v1")
        assert jobs.verify(spark, repo.uri).ok
        ours = jobs.verify(spark, repo.uri, dangling_edges=True)
        assert found(ours) == found(repo.verify(dangling_edges=True))
        ten = ", ".join(sorted(repr(each["dst"]) for each in ghosts)[:10])
        assert [each.detail for each in ours.findings] == [
            "its 'src' names nodes that are not there: 'nobody'",
            f"its 'dst' names nodes that are not there: {ten}",
        ]


def test_optimize(spark: SparkSession, tmp_path: Path) -> None:
    """Each table by a task; what was done is published, and told."""
    lines: list[str] = []
    with made(tmp_path / "repo") as repo:
        for number in range(5):
            with repo.transaction() as tx:
                tx.append(PERSON, [person(f"p{number}")])
        before = everything(repo)
        report = jobs.optimize(
            spark, repo.uri, actor="night", message="tidy", progress=lines.append
        )
        assert [*report.tables] == [KNOWS, CITY, PERSON]
        assert report.tables[PERSON].fragments_before == 6
        assert report.tables[PERSON].fragments_after == 1
        assert report.tables[CITY].outcome is OptimizeOutcome.UNCHANGED
        assert everything(repo) == before
        assert (repo.log(limit=1)[0].actor_id, repo.log(limit=1)[0].message) == ("night", "tidy")
        assert any(PERSON in line for line in lines)
        repo.branches.create("side")
        for number in range(3):
            with repo.transaction("side") as tx:
                tx.append(CITY, [{"id": f"c{number}"}])
        side = jobs.optimize(spark, repo.uri, branch="side").tables[CITY]
        assert (side.fragments_before, side.fragments_after) == (3, 1)
        with pytest.raises(InvalidRequest, match="collection of table keys"):
            jobs.optimize(spark, repo.uri, tables=PERSON)
        again = jobs.optimize(spark, repo.uri, tables=[PERSON])
        assert again.tables[PERSON].outcome is OptimizeOutcome.UNCHANGED
        with pytest.raises(UnknownTable):
            jobs.optimize(spark, repo.uri, tables=["node:Nobody"])
        with pytest.raises(UnknownBranch):
            jobs.optimize(spark, repo.uri, branch="nothing")


def test_merge(spark: SparkSession, tmp_path: Path) -> None:
    """What both changed is told, all of it; a strategy decides."""
    lines: list[str] = []
    with made(tmp_path / "repo") as repo:
        repo.branches.create("side")
        for branch, age in (("side", 7), ("main", 8)):
            with repo.transaction(branch) as tx:
                tx.upsert(PERSON, [{"id": "a", "age": age}, {"id": branch, "age": 1}])
        with pytest.raises(MergeConflicts):
            jobs.merge(spark, repo.uri, "side")
        tried = jobs.merge(spark, repo.uri, "side", strategy="theirs", dry_run=True)
        assert tried.commit is None
        done = jobs.merge(
            spark, repo.uri, "side", strategy="theirs", actor="ann", progress=lines.append
        )
        assert done.kind is MergeKind.MERGED
        assert everything(repo)["a"]["age"] == 7
        assert repo.log(limit=1)[0].actor_id == "ann"
    assert any("1 conflicts decided" in line for line in lines), lines
