"""Writes some of whose tasks run twice at once: Spark starts a second attempt of slow ones."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

import omnigraph_spark

__all__ = ["write_twins"]


@attrs.frozen
class Twins:
    """Holds the first two attempts of a task in the midst of its rows, until both are there."""

    marks: str
    name: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Let rows pass."""
        context = TaskContext.get()
        assert context is not None
        for number, batch in enumerate(batches):
            yield batch
            if number == 0 and context.partitionId() == 0:
                self._meet(context.attemptNumber())

    def _meet(self, attempt: int) -> None:
        """Mark an attempt, and wait for the other one, which is killed when the first has ended."""
        self._mark(attempt).touch()
        pause = threading.Event()
        while attempt in {0, 1} and not self._mark(1 - attempt).exists():
            pause.wait(0.02)

    def _mark(self, attempt: int) -> Path:
        return Path(self.marks) / f"{self.name} {attempt}"


def rows(spark: SparkSession, marks: str, name: str) -> DataFrame:
    """Make rows in four partitions, one of which is slow."""
    made = spark.range(0, 400, 1, 4).selectExpr(f"concat('{name}', id) as id")
    return made.mapInArrow(Twins(marks, name), made.schema)


def write_twins(spark: SparkSession, uri: str, marks: str) -> None:
    """Write by the format, and in a transaction."""
    for mode in ("append", "upsert"):
        frame = rows(spark, marks, f"{mode}-")
        options = {"table": "node:City", "write_mode": mode}
        frame.write.format("omnigraph").options(**options).mode("append").save(uri)
    with omnigraph_spark.transaction(spark, uri) as tx:
        tx.append("node:City", rows(spark, marks, "together-"))
