"""Streams into a table: each batch once, whatever dies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType
from spark_graph import KNOWS, PERSON, everything, ids, made
from streamjob import stream

from omnigraph_l2 import Repository
from omnigraph_l2.errors import InvalidRequest
from omnigraph_spark import cause_of
from omnigraph_spark.errors import InvalidOptions
from omnigraph_testing import AtPoint, Crash
from pyspark_omnigraph import DefaultSource

pytestmark = pytest.mark.spark


def put(location: Path, name: str, *rows: dict[str, Any]) -> None:
    """Let a file with rows arrive."""
    location.mkdir(exist_ok=True)
    (location / f"{name}.json").write_text("\n".join(map(json.dumps, rows)))


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """A small graph."""
    return made(tmp_path / "repo")


def test_batches_land_once(spark: SparkSession, repo: Repository, tmp_path: Path) -> None:
    """Each is a commit that has the name of the query and the number of the batch."""
    put(tmp_path / "in", "1", {"id": "c", "age": 3}, {"id": "d", "age": 4})
    stream(spark, repo.uri, tmp_path)
    put(tmp_path / "in", "2", {"id": "f", "age": 5})
    stream(spark, repo.uri, tmp_path)
    assert ids(repo) == "a b c d f"
    names = [commit.operation_hash for commit in repo.log(limit=2)]
    query = json.loads((tmp_path / "checkpoint" / "metadata").read_text())["id"]
    assert names == [f"spark-stream:{query}:1", f"spark-stream:{query}:0"]
    before = repo.log()
    stream(spark, repo.uri, tmp_path)
    assert repo.log() == before


def test_upserts(spark: SparkSession, repo: Repository, tmp_path: Path) -> None:
    """Rows are replaced by id; what is not given is kept."""
    put(tmp_path / "in", "1", {"id": "a", "age": 9}, {"id": "c", "age": 3})
    stream(spark, repo.uri, tmp_path, write_mode="upsert")
    found = {name: (row["name"], row["age"]) for name, row in everything(repo).items()}
    assert found == {"a": ("A", 9), "b": ("B", 2), "c": (None, 3)}


def test_complete_results(spark: SparkSession, repo: Repository, tmp_path: Path) -> None:
    """Each batch replaces the table."""
    with repo.transaction() as tx:
        tx.delete(KNOWS, ids=["e"])
    for number in (1, 2):
        rows = [{"id": "c", "age": number}, {"id": f"d{number}", "age": 4}]
        put(tmp_path / "in", str(number), *rows)
        stream(spark, repo.uri, tmp_path, "complete")
    found = {name: row["age"] for name, row in everything(repo).items()}
    assert found == {"c": 2, "d1": 4, "d2": 4}


@pytest.mark.parametrize("point", ["l2.publish.planned", "l2.publish.visible"])
def test_killed_in_the_commit(
    spark: SparkSession, omnigraph_crash: Crash, tmp_path: Path, point: str
) -> None:
    """Started again with its checkpoint, it does the batch again: the rows are there once."""
    with made(tmp_path / "repo") as repo:
        put(tmp_path / "in", "1", *({"id": f"n{each}", "age": each} for each in range(100)))
        trouble = {"kill": AtPoint(point), "must_be_killed": False}
        outcome = omnigraph_crash.run(stream, None, repo.uri, tmp_path, deadline=300, **trouble)
        assert outcome.killed or outcome.raised, outcome.detail
        assert ("n7" in ids(repo)) == (point == "l2.publish.visible")
        stream(spark, repo.uri, tmp_path)
        assert len(everything(repo)) == 102
        assert len([each for each in repo.log() if each.operation_hash]) == 1


def test_options_that_a_stream_has_not(
    spark: SparkSession, repo: Repository, tmp_path: Path
) -> None:
    """Each batch has a name of its own."""
    put(tmp_path / "in", "1", {"id": "c", "age": 3})
    with pytest.raises(StreamingQueryException) as raised:
        stream(spark, repo.uri, tmp_path, operation_hash="once")
    assert isinstance(cause_of(raised.value), InvalidOptions)
    assert ids(repo) == "a b"


def test_a_batch_without_a_name(repo: Repository) -> None:
    """Where no task can tell the query, as outside of a stream, nothing is taken for done."""
    source = DefaultSource({"path": repo.uri, "table": PERSON})
    sink: Any = source.streamWriter(StructType().add("id", "string"), overwrite=False)
    with pytest.raises(Exception, match="omnigraph-error: ") as raised:
        sink.write(iter([pa.record_batch({"id": ["c"]})]))
    assert isinstance(cause_of(raised.value), InvalidRequest)
