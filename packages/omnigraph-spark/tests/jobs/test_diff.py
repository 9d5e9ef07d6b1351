"""Diffs by executors: what ``repo.diff`` tells, and the rows in files."""

from __future__ import annotations

from pathlib import Path

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from spark_graph import CITY, KNOWS, PERSON, SCHEMA, knows, made, person

from omnigraph_l2 import GraphSchema, NodeType, Repository
from omnigraph_l2.errors import UnknownTable
from omnigraph_spark import jobs
from omnigraph_spark.errors import InvalidOptions, OutputExists

pytestmark = pytest.mark.spark


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
