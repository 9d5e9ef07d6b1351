"""``df.write.format("omnigraph")``: rows once or not at all, whatever is run again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from spark_graph import CITY, KNOWS, PERSON, everything, frame, ids, knows, person

from omnigraph_l2 import OmniGraphError, Repository
from omnigraph_l2.errors import (
    DanglingEdges,
    DuplicateIds,
    ExpectedVersionMismatch,
    InvalidData,
    UnknownTable,
)
from omnigraph_spark import cause_of
from omnigraph_spark.errors import InvalidOptions

pytestmark = pytest.mark.spark


def save(rows: DataFrame, repo: Repository, table: str, mode: str = "append", **how: Any) -> None:
    """Write rows into a table."""
    writer = rows.write.format("omnigraph").option("table", table).mode(mode)
    for key, value in how.items():
        writer = writer.option(key, value)
    writer.save(repo.uri)


@contextmanager
def refused(kind: type[OmniGraphError], *words: str) -> Iterator[None]:
    """Expect an error of ours, wrapped by Spark."""
    with pytest.raises(PySparkException) as told:
        yield
    cause = cause_of(told.value)
    assert isinstance(cause, kind)
    assert all(word in str(cause) for word in words)


def test_each_mode(spark: SparkSession, repo: Repository) -> None:
    """Append, overwrite, upsert and delete, each one commit with what was said of it."""
    people = frame(spark, [person(f"p{each}", each) for each in range(20)]).repartition(3)
    save(people, repo, PERSON, actor="ann", message="more", operation_hash="load")
    newest = repo.log(limit=1)[0]
    assert (newest.actor_id, newest.message, newest.operation_hash) == ("ann", "more", "load")
    assert len(everything(repo)) == 22
    save(people, repo, PERSON, operation_hash="load")
    assert repo.log(limit=1)[0] == newest
    changed = frame(spark, [{"id": "a", "age": 9}, {"id": "new", "age": 1}])
    save(changed.repartition(2), repo, PERSON, write_mode="upsert")
    assert everything(repo)["a"] == person("a", 9)
    assert everything(repo)["new"] == {"id": "new", "name": None, "age": 1}
    save(people.filter("age < 15"), repo, PERSON, write_mode="delete")
    assert ids(repo) == "a b new p15 p16 p17 p18 p19"
    save(frame(spark, [person("x"), person("a"), person("b")]), repo, PERSON, "overwrite")
    assert ids(repo) == "a b x"
    repo.branches.create("side")
    save(frame(spark, [person("s")]), repo, PERSON, branch="side")
    assert (ids(repo), ids(repo, branch="side")) == ("a b x", "a b s x")


def test_what_is_wrong_is_told_before_the_first_task(
    spark: SparkSession, repo: Repository, tmp_path: Path
) -> None:
    """Every problem of the columns, of the options, and the version that was expected."""
    ran = tmp_path / "ran"

    @F.udf(returnType="int", useArrow=False)
    def marking(age: int) -> int:
        ran.touch()
        return age

    rows = frame(spark, [person("x")])
    wrong = rows.select("id", F.array(marking("age")).alias("age"), F.lit(1).alias("more"))
    with refused(InvalidData, "age", "more", "is no column"):
        save(wrong, repo, PERSON)
    with refused(InvalidOptions, "unknown option 'tabel'"):
        save(rows, repo, PERSON, tabel="x")
    with refused(InvalidData, "id: is missing"):
        save(rows.select("name"), repo, PERSON, write_mode="delete")
    with refused(UnknownTable):
        save(rows, repo, "node:No")
    with refused(ExpectedVersionMismatch):
        save(rows.withColumn("age", marking("age")), repo, PERSON, expected_version=1)
    assert not ran.exists()
    assert ids(repo) == "a b"


@pytest.mark.parametrize(
    ("rows", "table", "how", "kind", "word"),
    [
        ([person("x")] * 2, PERSON, {}, DuplicateIds, "'x'"),
        ([person("a")], PERSON, {}, DuplicateIds, "'a'"),
        (
            [person("a")] * 2,
            PERSON,
            {"write_mode": "upsert"},
            InvalidData,
            "stands more than once with 'a'",
        ),
        ([knows("f", "a", "no")], KNOWS, {}, DanglingEdges, "'no'"),
        ([person("b")], PERSON, {"write_mode": "delete"}, DanglingEdges, "'b'"),
        ([person("b")], PERSON, {"mode": "overwrite"}, DanglingEdges, "'a'"),
    ],
)
def test_what_is_wrong_with_rows(  # noqa: PLR0917 - pytest gives them by name
    spark: SparkSession,
    repo: Repository,
    rows: list[dict[str, Any]],
    table: str,
    how: dict[str, Any],
    kind: type[OmniGraphError],
    word: str,
) -> None:
    """L2 checks it when it is committed; nothing is published, and no file of anybody is lost."""
    version = repo.snapshot().version
    with refused(kind, word):
        save(frame(spark, rows).repartition(len(rows)), repo, table, **how)
    assert repo.snapshot().version == version
    assert ids(repo, KNOWS) == "e"


def test_checked_by_the_caller(spark: SparkSession, repo: Repository) -> None:
    """Then it is believed."""
    save(frame(spark, [knows("f", "a", "no")]), repo, KNOWS, checked=True)
    assert ids(repo, KNOWS) == "e f"


def test_the_version_that_is_expected(spark: SparkSession, repo: Repository) -> None:
    """Right, it is written."""
    version = repo.snapshot().tables[CITY].table_version
    rows = frame(spark, [{"id": "x"}])
    save(rows, repo, CITY, expected_version=version)
    assert ids(repo, CITY) == "x"
    with refused(ExpectedVersionMismatch):
        save(rows, repo, CITY, expected_version=version)


def test_no_rows(spark: SparkSession, repo: Repository) -> None:
    """No partition, or empty ones."""
    none = spark.createDataFrame([], "id string, name string, age int")
    log = repo.log()
    for how in ({}, {"write_mode": "upsert"}, {"write_mode": "delete"}):
        save(none, repo, PERSON, **how)
    assert repo.log() == log
    save(frame(spark, [person("x")]).repartition(5), repo, PERSON)
    assert ids(repo) == "a b x"
    save(spark.createDataFrame([], "id string"), repo, CITY, "overwrite")
