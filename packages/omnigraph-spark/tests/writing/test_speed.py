"""Writing beside Spark's own Parquet, on the same rows and in one run; and what the driver holds.

The figures are printed: ``pytest -s``. The full size, and the goals, are those of the nightly run.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import DataFrame, SparkSession
from spark_graph import KNOWS, PERSON, SCHEMA, knows, made

from omnigraph_l2 import Repository
from omnigraph_spark import transaction
from omnigraph_testing import Crash

pytestmark = [pytest.mark.spark, pytest.mark.slow]

FULL_SIZE: Final = bool(os.environ.get("OMNIGRAPH_FULL_SIZE"))
EDGES: Final = 5_000_000 if FULL_SIZE else 100_000
PEOPLE: Final = 10_000_000 if FULL_SIZE else 200_000
_RUNS: Final = 2
"""The first one starts processes, and what they import; the better one counts."""
_MOST_OF_AN_APPEND: Final = 1.6
_MOST_OF_AN_UPSERT: Final = 1.0
_MOST_MEGABYTES: Final = 192


def _edges(spark: SparkSession, count: int) -> DataFrame:
    return spark.range(0, count, 1, 4).selectExpr(
        "concat('k', id) as id",
        "concat('p', id % 1000) as src",
        "concat('p', (id * 7919) % 1000) as dst",
        "id as since",
    )


def _people(spark: SparkSession, count: int, *, every: int = 1, age: int = 1) -> DataFrame:
    return spark.range(0, count, every, 4).selectExpr(
        "concat('p', id) as id", "concat('name of ', id) as name", f"cast({age} as int) as age"
    )


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _saved(rows: DataFrame, uri: str, table: str, **how: object) -> None:
    writer = rows.write.format("omnigraph").option("table", table).mode("append")
    for key, value in how.items():
        writer = writer.option(key, str(value).lower())
    writer.save(uri)


def test_appending(spark: SparkSession, tmp_path: Path) -> None:
    """A write of edges that the caller has checked, one that L2 checks, one that Spark checks."""
    edges = _edges(spark, EDGES)
    parquet = min(
        _seconds(lambda to=str(tmp_path / f"parquet{run}"): edges.write.parquet(to))
        for run in range(_RUNS)
    )
    told: dict[str, float] = {}
    for how in ("unchecked", "checked by L2", "checked by Spark"):
        for run in range(_RUNS):
            with Repository.init(tmp_path / f"{how} {run}", SCHEMA, durability="none") as repo:
                with repo.transaction() as tx:
                    tx.append(PERSON, [{"id": f"p{number}"} for number in range(1000)])
                seconds = _seconds(lambda uri=repo.uri, how=how: _appended(spark, uri, edges, how))
                told[how] = min(seconds, told.get(how, seconds))
                assert repo.snapshot().tables[KNOWS].row_count == EDGES
    print(f"\n{EDGES} edges: Parquet {parquet:.2f} s, " + _listed(told))  # noqa: T201
    if FULL_SIZE:
        assert told["unchecked"] <= _MOST_OF_AN_APPEND * parquet


def _appended(spark: SparkSession, uri: str, edges: DataFrame, how: str) -> None:
    if how == "checked by Spark":
        _in_a_transaction(spark, uri, edges)
    else:
        _saved(edges, uri, KNOWS, checked=how == "unchecked")


def _in_a_transaction(spark: SparkSession, uri: str, edges: DataFrame) -> None:
    with transaction(spark, uri) as tx:
        tx.append(KNOWS, edges)


def _listed(told: dict[str, float]) -> str:
    return ", ".join(f"{how} {seconds:.2f} s" for how, seconds in told.items())


def test_upserting_one_in_a_hundred(spark: SparkSession, tmp_path: Path) -> None:
    """Beside rewriting all as Parquet, which is what one does without updates."""
    everybody = _people(spark, PEOPLE)
    everybody.write.parquet(str(tmp_path / "before"))
    changes = _people(spark, PEOPLE, every=100, age=2)

    def rewritten() -> None:
        before = spark.read.parquet(str(tmp_path / "before"))
        kept = before.join(changes.select("id").hint("broadcast"), "id", "left_anti")
        kept.unionByName(changes).write.parquet(str(tmp_path / "after"))

    parquet = _seconds(rewritten)
    told = {}
    with Repository.init(tmp_path / "repo", SCHEMA, durability="none") as repo:
        _saved(everybody, repo.uri, PERSON, checked=True)

        def upserted(*, check: bool) -> None:
            with transaction(spark, repo.uri, check=check) as tx:
                tx.upsert(PERSON, changes)

        told["unchecked"] = _seconds(lambda: upserted(check=False))
        told["checked by Spark"] = _seconds(lambda: upserted(check=True))
        assert repo.snapshot().dataset(PERSON).count_rows("age = 2") == PEOPLE // 100
        assert repo.snapshot().tables[PERSON].row_count == PEOPLE
    print(f"\n1 % of {PEOPLE}: Parquet {parquet:.2f} s, " + _listed(told))  # noqa: T201
    if FULL_SIZE:
        assert told["unchecked"] <= _MOST_OF_AN_UPSERT * parquet


def held_by_the_driver(uri: str, rows: int) -> float:
    """Append and upsert so many rows; tell by how many megabytes this process grew."""
    import omnigraph_spark  # noqa: PLC0415 - in a process of its own

    config = {"spark.ui.enabled": False, "spark.sql.shuffle.partitions": 4}
    spark = omnigraph_spark.session("memory", "local[2]", config)
    grown = []
    for count in (1_000, rows):
        with made(f"{uri}-{count}") as repo:
            gc.collect()
            Path("/proc/self/clear_refs").write_text("5")
            before = _peak()
            with transaction(spark, repo.uri) as tx:
                tx.append(PERSON, _people(spark, count))
                tx.append(KNOWS, _edges(spark, min(count, 1_000)))
            with transaction(spark, repo.uri) as tx:
                tx.upsert(PERSON, _people(spark, count, every=10, age=2))
            with repo.transaction() as tx:
                tx.append(KNOWS, [knows("after", "a", "b")])
            grown.append(_peak() - before)
    spark.stop()
    return grown[1] - grown[0]


def _peak() -> float:
    status = Path("/proc/self/status").read_text().splitlines()
    (line,) = [each for each in status if each.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def test_the_driver_does_not_hold_the_rows(omnigraph_crash: Crash, tmp_path: Path) -> None:
    """Thousands of times the rows take some megabytes more, whatever the rows would take."""
    rows = PEOPLE // 4
    outcome = omnigraph_crash.run(held_by_the_driver, str(tmp_path / "repo"), rows, deadline=570.0)
    print(f"\n{rows} rows: {outcome.value:.0f} MB more in the driver than for 1,000")  # noqa: T201
    assert outcome.value < _MOST_MEGABYTES
