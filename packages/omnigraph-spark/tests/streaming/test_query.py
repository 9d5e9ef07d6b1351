"""Queries over the changes of a table: they go on where they were, and write each batch once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from following import Following, changed
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from spark_graph import CITY, KNOWS, PERSON, everything, frame, ids, knows, made, person

from omnigraph_l2 import Repository
from omnigraph_l2.errors import DanglingEdges, InvalidRequest
from omnigraph_spark import SparkTransaction, cause_of, each_batch
from omnigraph_spark.errors import InvalidOptions, StreamColumnsChanged

pytestmark = pytest.mark.spark
Each = Callable[[DataFrame, int], None]


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    """Two people who know each other."""
    return made(tmp_path / "repo")


def changes(spark: SparkSession, repo: Repository, **options: Any) -> DataFrame:
    """Load the changes of people."""
    source = spark.readStream.format("omnigraph").option("table", PERSON)
    return source.options(**options).load(repo.uri)


def follow(stream: DataFrame, each: Each, location: Path) -> None:
    """Do something with each batch, until there is nothing new."""
    writer = stream.writeStream.foreachBatch(each)
    writer = writer.option("checkpointLocation", str(location / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()


def test_it_goes_on_where_it_was(spark: SparkSession, repo: Repository, tmp_path: Path) -> None:
    """First all rows, then each commit; what Spark has is what tasks were given."""
    batches: list[list[dict[str, Any]]] = []

    def keep(batch: DataFrame, _number: int) -> None:
        batches.append(batch.toArrow().to_pylist())

    alone = Following(repo.uri, starting="snapshot")
    follow(changes(spark, repo, starting="snapshot"), keep, tmp_path)
    (wanted,) = alone.rest()
    assert sorted(map(repr, batches.pop())) == sorted(map(repr, wanted))
    with repo.transaction() as tx:
        tx.upsert(PERSON, [person("a", 5), person("c", 3)])
    with repo.transaction() as tx:
        tx.append(CITY, [{"id": "o"}])
        tx.append(PERSON, [person("d", 4)])
    options = {"starting": "snapshot", "max_commits_per_batch": 1}
    follow(changes(spark, repo, **options), keep, tmp_path)
    assert [changed(each) for each in batches] == [["insert c", "update a"], ["insert d"]]
    follow(changes(spark, repo, **options), keep, tmp_path)
    assert len(batches) == 2


def test_columns_that_came_stop_it(spark: SparkSession, repo: Repository, tmp_path: Path) -> None:
    """The error is that of the graph; loaded again, the query goes on."""
    seen: list[str] = []

    def keep(batch: DataFrame, _number: int) -> None:
        seen.extend(row.name for row in batch.select("after.*").collect())

    older = changes(spark, repo, starting="latest")
    follow(older, keep, tmp_path)
    schema = repo.snapshot().schema
    properties = {**schema[PERSON].properties, "nick": schema[PERSON].properties["name"]}
    nodes = [type(schema.nodes[0])("Person", properties), schema[CITY]]
    repo.evolve(type(schema)(nodes=nodes, edges=schema.edges))
    with repo.transaction() as tx:
        tx.append(PERSON, [{"id": "n", "name": "N", "nick": "x"}])
    with pytest.raises(StreamingQueryException) as raised:
        follow(older, keep, tmp_path)
    assert isinstance(cause_of(raised.value), StreamColumnsChanged)
    assert seen == []
    newer = changes(spark, repo, starting="latest")
    assert "nick" in newer.select("after.*").columns
    follow(newer, keep, tmp_path)
    assert seen == ["N"]


def test_options_are_told_when_it_is_loaded(spark: SparkSession, repo: Repository) -> None:
    """Before anything is started, but for the one by which a stream is known."""
    with pytest.raises(AnalysisException) as raised:
        changes(spark, repo, starting="tomorrow")
    assert isinstance(cause_of(raised.value), InvalidOptions)


def people_and_edges(tx: SparkTransaction, batch: DataFrame) -> None:
    """Write a person for each change, and whom it knows."""
    rows = batch.where("change = 'insert'").select(
        F.concat(F.lit("x-"), "id").alias("id"), F.col("after.age").alias("age")
    )
    tx.append(PERSON, rows)
    ends = rows.select(
        F.concat(F.lit("k-"), "id").alias("id"), F.col("id").alias("src"), F.lit("a").alias("dst")
    )
    tx.append(KNOWS, ends)


def test_two_tables_once(spark: SparkSession, repo: Repository, tmp_path: Path) -> None:
    """A batch that Spark runs again, as after a crash, is known by its name."""
    with made(tmp_path / "target") as target:
        each = each_batch(target.uri, people_and_edges, actor="stream")
        follow(changes(spark, repo, starting="snapshot"), each, tmp_path)
        assert ids(target) == "a b x-a x-b"
        assert ids(target, KNOWS) == "e k-x-a k-x-b"
        (commit,) = target.log(limit=1)
        query = json.loads((tmp_path / "checkpoint" / "metadata").read_text())["id"]
        assert commit.operation_hash == f"spark-batch:{query}:0"
        assert commit.actor_id == "stream"
        for name in ("0", ".0.crc"):
            (tmp_path / "checkpoint" / "commits" / name).unlink()
        with repo.transaction() as tx:
            tx.append(PERSON, [person("c", 3)])
        follow(changes(spark, repo, starting="snapshot"), each, tmp_path)
        assert ids(target) == "a b x-a x-b x-c"
        assert [each.operation_hash for each in target.log(limit=2)] == [
            f"spark-batch:{query}:1",
            f"spark-batch:{query}:0",
        ]


def test_two_of_one_stream(spark: SparkSession, repo: Repository, tmp_path: Path) -> None:
    """The second would be taken for the first, done again: it is refused, or has its own name."""

    def cities(tx: SparkTransaction, batch: DataFrame) -> None:
        tx.append(CITY, batch.select("id"))

    def both(*names: str | None) -> Each:
        def write(batch: DataFrame, number: int) -> None:
            for function, name in zip((people_and_edges, cities), names, strict=True):
                each_batch(target.uri, function, name=name)(batch, number)

        return write

    with made(tmp_path / "target") as target:
        stream = changes(spark, repo, starting="snapshot")
        with pytest.raises(StreamingQueryException) as raised:
            follow(stream, both(None, None), tmp_path / "one")
        found = cause_of(raised.value)
        assert isinstance(found, InvalidRequest)
        assert "a name of its own" in found.reason
        assert ids(target, CITY) == ""
        follow(stream, both(None, "cities"), tmp_path / "one")
        assert (ids(target), ids(target, CITY)) == ("a b x-a x-b", "a b")


def test_a_batch_alone(spark: SparkSession, repo: Repository) -> None:
    """With a name of one's own; once more after a lost race; errors are those of the graph."""
    raced: list[str] = []

    def racing(tx: SparkTransaction, batch: DataFrame) -> None:
        tx.upsert(PERSON, batch)
        if not raced:
            raced.append("once")
            with repo.transaction() as other:
                other.upsert(PERSON, [person("a", 77)])

    rows = frame(spark, [person("a", 5), person("c", 3)])
    for _ in range(2):
        each_batch(repo.uri, racing, name="mine")(rows, 7)
    assert {name: row["age"] for name, row in everything(repo).items()} == {"a": 5, "b": 2, "c": 3}
    assert [each.operation_hash for each in repo.log(limit=2)] == ["spark-batch:mine:7", None]
    assert not rows.is_cached

    def dangling(tx: SparkTransaction, batch: DataFrame) -> None:
        tx.append(KNOWS, batch)

    edges = frame(spark, [knows("k", "a", "nobody")])
    with pytest.raises(Exception, match="nobody") as raised:
        each_batch(repo.uri, dangling, name="mine")(edges, 8)
    assert isinstance(cause_of(raised.value), DanglingEdges)
    each_batch(repo.uri, dangling, name="mine", check=False)(edges, 8)
    assert ids(repo, KNOWS) == "e k"


def test_a_batch_without_a_name(spark: SparkSession, repo: Repository) -> None:
    """Outside of a query there is none; nor is everything a function."""
    rows = frame(spark, [person("c", 3)])
    with pytest.raises(Exception, match="give each_batch a name") as raised:
        each_batch(repo.uri, lambda tx, batch: tx.append(PERSON, batch))(rows, 0)
    assert isinstance(cause_of(raised.value), InvalidRequest)
    with pytest.raises(InvalidRequest, match="function"):
        each_batch(repo.uri, "append")  # type: ignore[arg-type]
