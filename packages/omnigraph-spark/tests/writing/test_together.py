"""Two Spark jobs and two writers without Spark on one repository, all at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest
from l2_writers import adding, changing
from pyspark.sql import SparkSession
from sizes import sized
from spark_graph import KNOWS, PERSON, everything, ids, person

from omnigraph_l2 import Repository
from omnigraph_l2.errors import Conflict
from omnigraph_spark import SparkTransaction, transaction

pytestmark = [pytest.mark.spark, pytest.mark.integration]

_ROUNDS = sized(2, 20)
_ROWS = 50
_ATTEMPTS = 30


def _done(spark: SparkSession, uri: str, work: Callable[[SparkTransaction], None]) -> None:
    """Do something, and again after each lost race, as a user would."""
    for left in range(_ATTEMPTS - 1, -1, -1):
        try:
            with transaction(spark, uri) as tx:
                work(tx)
        except Conflict:
            if not left:
                raise
        else:
            return


def _loading(spark: SparkSession, uri: str) -> None:
    for number in range(_ROUNDS):
        rows = spark.range(_ROWS).selectExpr(f"concat('l{number}-', id) as id")
        edges = rows.selectExpr("id", "id as src", "'b' as dst")

        def load(tx: SparkTransaction, rows: object = rows, edges: object = edges) -> None:
            tx.append(PERSON, rows)
            tx.append(KNOWS, edges)

        _done(spark, uri, load)


def _upserting(spark: SparkSession, uri: str) -> None:
    for number in range(_ROUNDS):
        rows = spark.range(_ROWS).selectExpr(
            "concat('u-', id) as id", "cast(null as string) as name", f"{number} as age"
        )
        _done(spark, uri, lambda tx, rows=rows: tx.upsert(PERSON, rows))


def test_all_at_once(spark: SparkSession, repo: Repository) -> None:
    """Each row of everybody is there once, as its own writer left it last."""
    jobs, others = ThreadPoolExecutor(2), ProcessPoolExecutor(2, get_context("spawn"))
    with jobs, others:
        running = [
            *(jobs.submit(each, spark, repo.uri) for each in (_loading, _upserting)),
            *(others.submit(each, repo.uri, 4 * _ROUNDS) for each in (adding, changing)),
        ]
        for each in running:
            each.result()
    loaded = {f"l{number}-{row}" for number in range(_ROUNDS) for row in range(_ROWS)}
    upserted = {f"u-{row}" for row in range(_ROWS)}
    added = {f"added{number}" for number in range(4 * _ROUNDS)}
    found = everything(repo)
    assert found.keys() == {"a", "b", "changing"} | loaded | upserted | added
    assert {found[name]["age"] for name in upserted} == {_ROUNDS - 1}
    assert found["changing"] == person("changing", 4 * _ROUNDS - 1)
    assert set(ids(repo, KNOWS).split()) == {"e"} | loaded | added
    repo.flush()
    assert [each for each in repo.verify().findings if each.severity.value != "info"] == []
