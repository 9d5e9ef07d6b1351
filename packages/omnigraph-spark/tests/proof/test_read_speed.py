"""How fast a table is scanned, and a row found, beside Parquet with the same rows in one run.

At full size (``OMNIGRAPH_FULL_SIZE``) 5 million edges; else a tenth,
where starting a query weighs more than reading, and the bounds are wide. The figures are printed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from reading import load

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository

FULL = bool(os.environ.get("OMNIGRAPH_FULL_SIZE"))
EDGES = 5_000_000 if FULL else 500_000
AT_ONCE = 500_000
MOST_TIMES_SLOWER = 2.0 if FULL else 8.0
LEAST_TIMES_FASTER = 5.0 if FULL else 0.2
RUNS = 3
KNOWS = "edge:Knows"
# It compares times, so it needs a machine without other work.
pytestmark = [pytest.mark.spark, pytest.mark.slow]


@attrs.frozen
class Both:
    """The same rows twice."""

    repo: Repository
    parquet: str
    some_id: str


def edges(first: int, count: int) -> pa.Table:
    """Make edges whose ids are in no order."""
    numbers = np.arange(first, first + count, dtype=np.uint64)
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    ids = pa.array(np.char.mod("%016x", mixed))
    ends = [pa.array(np.char.mod("p%d", (mixed >> np.uint64(s)) % 100_003)) for s in (3, 17)]
    weight = pa.array((mixed % np.uint64(1000)).astype(np.float64) / 7)
    return pa.table(
        {"id": ids, "src": ends[0], "dst": ends[1], "weight": weight, "n": numbers.astype(np.int64)}
    )


@pytest.fixture(scope="module")
def both(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """A repository, and Parquet files that Spark wrote of it."""
    location = tmp_path_factory.mktemp("speed")
    properties = {"weight": pa.float64(), "n": pa.int64()}
    knows = EdgeType("Knows", "P", "P", properties)
    schema = GraphSchema(nodes=[NodeType("P")], edges=[knows])
    with Repository.init(location / "repo", schema, durability="none") as repo:
        for first in range(0, EDGES, AT_ONCE):
            with repo.transaction(check_edges=False) as tx:
                tx.append(KNOWS, edges(first, AT_ONCE))
        repo.optimize()
        parquet = str(Path(location, "parquet"))
        load(spark, repo, KNOWS).write.parquet(parquet)
        yield Both(repo, parquet, edges(EDGES // 3, 1)["id"][0].as_py())


def fastest(query: Callable[[], DataFrame]) -> tuple[float, list[object]]:
    """Time a query, planning included; the first time warms up."""
    times, found = [], []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        found = [row.asDict() for row in query().collect()]
        times.append(time.perf_counter() - start)
    return min(times[1:]), found


def test_scanning_two_columns(spark: SparkSession, both: Both) -> None:
    """At most twice the time of Parquet."""
    summed = [F.min("src"), F.max("weight"), F.count("*")]
    ours, found = fastest(lambda: load(spark, both.repo, KNOWS, columns="src,weight").agg(*summed))
    parquet, wanted = fastest(lambda: spark.read.parquet(both.parquet).agg(*summed))
    print(f"\n{EDGES} edges, two columns: {ours:.2f} s; Parquet {parquet:.2f} s")  # noqa: T201
    assert found == wanted
    assert ours <= MOST_TIMES_SLOWER * parquet


def test_a_filter_that_an_index_serves(spark: SparkSession, both: Both) -> None:
    """Five times faster than Parquet, whose files must all be looked at."""
    wanted_id = both.some_id
    pushing, files = load(spark, both.repo, KNOWS, pushdown=True), spark.read.parquet(both.parquet)
    ours, found = fastest(lambda: pushing.where(F.col("id") == wanted_id))
    loaded, also = fastest(lambda: load(spark, both.repo, KNOWS, filter=f"id = '{wanted_id}'"))
    parquet, wanted = fastest(lambda: files.where(F.col("id") == wanted_id))
    nothing, _ = fastest(lambda: spark.range(1).toDF("id"))
    told = f"one id: {ours:.2f} s, loading first {loaded:.2f} s; Parquet {parquet:.2f} s; "
    print(f"\n{EDGES} edges, {told}a query of nothing {nothing:.2f} s")  # noqa: T201
    assert found == also == wanted
    assert len(found) == 1
    assert ours * LEAST_TIMES_FASTER <= parquet
