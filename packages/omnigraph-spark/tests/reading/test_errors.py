"""What goes wrong is told with the type and the attributes that it has in omnigraph_l2."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from reading import load

from omnigraph_l2 import GraphSchema, NodeType, OmniGraphError, Repository
from omnigraph_l2.errors import (
    InvalidFilter,
    RepositoryNotFound,
    SnapshotExpired,
    UnknownBranch,
    UnknownTable,
    UnknownVersion,
)
from omnigraph_spark import cause_of
from omnigraph_spark.errors import InexactValue, InvalidOptions

PERSON = "node:Person"
WRONG: list[tuple[type[OmniGraphError], dict[str, Any]]] = [
    (UnknownTable, {"table": "node:Nobody"}),
    (UnknownBranch, {"branch": "nope"}),
    (UnknownVersion, {"version": 77}),
    (InvalidOptions, {"colums": "id"}),
    (InvalidOptions, {"columns": "id,shoe"}),
    (InvalidOptions, {"schema": "id string, shoe int"}),
    (InvalidOptions, {"schema": "age string"}),
    (InvalidFilter, {"filter": "age >"}),
]


@pytest.mark.parametrize(("kind", "options"), WRONG, ids=str)
def test_wrong_reads(
    spark: SparkSession,
    omnigraph_repo: Repository,
    kind: type[OmniGraphError],
    options: dict[str, Any],
) -> None:
    """Spark's error has the message, and gives back the error."""
    asked = {"table": PERSON, **options}
    with pytest.raises((PySparkException, Py4JError)) as told:
        load(spark, omnigraph_repo, asked.pop("table"), **asked).collect()
    found = cause_of(told.value)
    assert type(found) is kind
    assert str(found) in str(told.value)


def test_no_repository(spark: SparkSession, omnigraph_repo: Repository) -> None:
    """It is told which location was looked at."""
    with pytest.raises(PySparkException) as told:
        load(spark, f"{omnigraph_repo.uri}-not", PERSON)
    assert isinstance(cause_of(told.value), RepositoryNotFound)


def test_texts_that_look_like_an_error(spark: SparkSession, omnigraph_repo: Repository) -> None:
    """What a name has in it hides no error."""
    name = 'node:omnigraph-error: {"kind": "x"}'
    with pytest.raises((PySparkException, Py4JError)) as told:
        load(spark, omnigraph_repo, name)
    found = cause_of(told.value)
    assert isinstance(found, UnknownTable)
    assert found.table_key == name


def test_what_was_cleaned_up(spark: SparkSession, omnigraph_repo: Repository) -> None:
    """A frame that is older than the retention says so, from its tasks."""
    repo = omnigraph_repo
    frame = load(spark, repo, PERSON)
    assert frame.count() == 3
    with repo.transaction() as tx:
        tx.delete(PERSON, ids=["eve"])
    repo.optimize()
    repo._leases.short_read_seconds = 0.0
    repo.cleanup(older_than=timedelta(0), keep_versions=1, dry_run=False)
    with pytest.raises((PySparkException, Py4JError)) as told:
        frame.collect()
    found = cause_of(told.value)
    assert isinstance(found, SnapshotExpired)
    assert found.table_key == PERSON


def test_a_value_that_spark_cannot_hold(spark: SparkSession, tmp_path: Any) -> None:
    """It is refused where it is read, with its column, and the other columns can be read."""
    schema = GraphSchema(nodes=[NodeType("Event", {"at": pa.timestamp("ns")})])
    with Repository.init(tmp_path / "repo", schema, durability="none") as repo:
        with repo.transaction() as tx:
            tx.append(
                "node:Event", pa.table({"id": ["a"], "at": pa.array([1], pa.timestamp("ns"))})
            )
        with pytest.raises((PySparkException, Py4JError)) as told:
            load(spark, repo, "node:Event").collect()
        found = cause_of(told.value)
        assert isinstance(found, InexactValue)
        assert found.column == "at"
        assert load(spark, repo, "node:Event", columns="id").count() == 1


def test_secrets_are_nowhere(spark: SparkSession, omnigraph_repo: Repository) -> None:
    """Not in plans, and not in what is told when a store cannot be reached."""
    secret = "hush-hush"
    storage = {"aws_secret_access_key": secret}
    frame = load(spark, omnigraph_repo, PERSON, storage=storage)
    execution = frame.where("age > 1")._jdf.queryExecution()  # type: ignore[operator]
    texts = [repr(frame), execution.toString(), execution.logical().toString()]
    wrong = {**storage, "nonsense": secret}
    with pytest.raises((PySparkException, Py4JError)) as told:
        load(spark, "s3://bucket/x", PERSON, storage=wrong)
    texts.append(str(told.value))
    assert all(secret not in text for text in texts)
