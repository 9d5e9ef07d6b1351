"""Diffs by executors: what ``repo.diff`` tells, and the rows in files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, time, timezone
from pathlib import Path
from typing import TypeAlias

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from spark_graph import CITY, KNOWS, PERSON, SCHEMA, knows, made, person

from omnigraph_l2 import GraphSchema, NodeType, Repository
from omnigraph_l2.errors import UnknownTable
from omnigraph_spark import jobs
from omnigraph_spark.errors import InexactValue, InvalidOptions, JobFailed, OutputExists

pytestmark = pytest.mark.spark
Confs: TypeAlias = Callable[[Mapping[str, str]], None]


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A graph with two moments that differ in every way."""
    repo = made(tmp_path / "repo")
    with repo.transaction() as tx:
        tx.append(CITY, [{"id": "rome"}, {"id": "oslo"}])
    repo.tags.create("v1")
    with repo.transaction() as tx:
        tx.upsert(PERSON, [person("a", 9), person("c")])
        tx.delete(KNOWS, ids=["e"])
        tx.delete(CITY, ids=["oslo"])
    with repo.transaction() as tx:
        tx.delete(PERSON, ids=["b"])
        tx.append(KNOWS, [knows("k", "a", "c")])
    changed = NodeType("Person", {"age": pa.int32(), "nick": pa.string()})
    repo.evolve(
        GraphSchema(nodes=[changed, *SCHEMA.nodes[1:], NodeType("Pet")], edges=SCHEMA.edges)
    )
    with repo.transaction() as tx:
        tx.append("node:Pet", [{"id": "rex"}])
    return repo


def test_what_differs(spark: SparkSession, repo: Repository) -> None:
    """It is what ``omnigraph_l2`` tells, also between other moments and of some tables."""
    told: list[str] = []
    report = jobs.diff(spark, repo.uri, "v1", "main", progress=told.append)
    theirs = repo.diff("v1", "main")
    assert dict(report.tables) == dict(theirs.tables)
    assert str(report.tables[PERSON]) in " ".join(told)
    assert not report.is_empty
    back = jobs.diff(spark, repo.uri, "main", "v1", tables=[CITY, "node:Pet"])
    assert dict(back.tables) == dict(repo.diff("main", "v1", [CITY, "node:Pet"]).tables)
    same = jobs.diff(spark, repo.uri, "main", "main")
    assert (same.is_empty, str(same)) == (True, "From main to main: nothing differs")
    with pytest.raises(UnknownTable):
        jobs.diff(spark, repo.uri, "v1", "main", tables=["node:Nobody"])


def test_rows_in_files(spark: SparkSession, repo: Repository, tmp_path: Path) -> None:
    """Each row with what it was and is; the same counts; nothing is written over."""
    out = str(tmp_path / "out")
    report = jobs.diff(spark, repo.uri, "v1", "main", out=out)
    theirs = repo.diff("v1", "main")
    assert dict(report.tables) == dict(theirs.tables)
    for key, path in report.out.items():
        rows = sorted(pq.read_table(path).to_pylist(), key=lambda row: row["id"])
        assert rows == sorted(theirs.rows(key).read_all().to_pylist(), key=lambda row: row["id"])
    assert report.out.keys() == {PERSON, CITY, KNOWS, "node:Pet"}
    with pytest.raises(OutputExists):
        jobs.diff(spark, repo.uri, "v1", "main", out=out)
    with pytest.raises(InvalidOptions, match="ndjson"):
        jobs.diff(spark, repo.uri, "v1", "main", out=out, format="csv")
    again = jobs.diff(spark, repo.uri, "v1", "main", out=out, format="ndjson", overwrite=True)
    assert attrs.evolve(again, seconds=0) == attrs.evolve(report, seconds=0)


def test_values_are_exact(spark: SparkSession, tmp_path: Path, confs: Confs) -> None:
    """Moments to the last digit, and nulls; whatever the session says of times."""
    confs({"spark.sql.session.timeZone": "America/New_York"})
    at = datetime(2026, 1, 31, 12, 0, 0, 123456, timezone.utc)
    schema = GraphSchema(nodes=[NodeType("T", {"at": pa.timestamp("us", "UTC")})])
    with Repository.init(tmp_path / "repo", schema, durability="none") as repo:
        with repo.transaction() as tx:
            tx.append("node:T", [{"id": "1", "at": at}, {"id": "2"}])
        for name in jobs.DIFF_FORMATS:
            jobs.diff(spark, repo.uri, 1, "main", out=str(tmp_path / name), format=name)
    found = pq.read_table(tmp_path / "parquet" / "nodes" / "T")
    assert found.schema.field("after").type.field("at").type == pa.timestamp("us", "UTC")
    parts = (tmp_path / "ndjson" / "nodes" / "T").glob("part-*")
    told = sorted(line for part in parts for line in part.read_text().splitlines())
    rows = [json.loads(line) for line in told]
    moments = {"1": "2026-01-31T12:00:00.123456Z", "2": None}
    for row, (name, moment) in zip(rows, moments.items(), strict=True):
        after = {"id": name, "at": moment}
        assert row == {"change": "insert", "id": name, "before": None, "after": after}


def test_nothing_of_an_earlier_one_is_left(
    spark: SparkSession, repo: Repository, tmp_path: Path
) -> None:
    """Where a table does not differ, its folder is in the way, or is emptied."""
    out = str(tmp_path / "out")
    earlier = jobs.diff(spark, repo.uri, "v1", "main", tables=[PERSON, CITY], out=out)
    with pytest.raises(OutputExists) as raised:
        jobs.diff(spark, repo.uri, "main", "main", tables=[PERSON, KNOWS], out=out)
    assert raised.value.paths == (earlier.out[PERSON],)
    now = jobs.diff(spark, repo.uri, "main", "main", tables=[PERSON], out=out, overwrite=True)
    assert dict(now.out) == {}
    assert not list(Path(earlier.out[PERSON]).glob("*"))
    assert pq.read_table(earlier.out[CITY]).num_rows == 1


def test_rows_that_cannot_be_written(spark: SparkSession, tmp_path: Path, confs: Confs) -> None:
    """Types are told before anything is written, values and locations as what they are."""
    kinds = {"Empty": pa.struct([]), "Fine": pa.timestamp("ns"), "Time": pa.time64("us")}
    schema = GraphSchema(nodes=[NodeType(name, {"t": kind}) for name, kind in kinds.items()])
    with Repository.init(tmp_path / "repo", schema, durability="none") as repo:
        with repo.transaction() as tx:
            tx.append("node:Empty", [{"id": "e"}])
            exact = pa.array([1], pa.timestamp("ns"))  # which Spark cannot hold
            tx.append("node:Fine", pa.table({"id": ["b"], "t": exact}))
            tx.append("node:Time", [{"id": "1", "t": time(1, 2, 3, 456789)}])
        out = tmp_path / "out"
        confs({"spark.sql.timeType.enabled": "false"})
        with pytest.raises(InvalidOptions, match=r"node:Empty.*timeType") as raised:
            jobs.diff(spark, repo.uri, 1, "main", out=str(out))
        assert len(raised.value.problems) == 4  # before and after of two tables
        assert jobs.diff(spark, repo.uri, 1, "main").tables["node:Time"].inserted == 1
        assert not out.exists()
        with pytest.raises(InexactValue, match="node:Fine"):
            jobs.diff(spark, repo.uri, 1, "main", tables=["node:Fine"], out=str(out))
        confs({"spark.sql.timeType.enabled": "true"})
        jobs.diff(spark, repo.uri, 1, "main", tables=["node:Time"], out=str(out))
        (row,) = pq.read_table(out / "nodes" / "Time")["after"].to_pylist()
        assert row["t"] == time(1, 2, 3, 456789)
        (tmp_path / "file").write_text("in the way")
        lost = str(tmp_path / "file" / "out")
        with pytest.raises(JobFailed, match="node:Time failed"):
            jobs.diff(spark, repo.uri, 1, "main", tables=["node:Time"], out=lost)
        with pytest.raises(InvalidOptions, match="out"):
            jobs.diff(spark, repo.uri, 1, "main", out=" ")
