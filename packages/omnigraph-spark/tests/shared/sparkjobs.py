"""Whole Spark jobs, to be run in a process of their own on a small cluster, and disturbed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from spark_graph import KNOWS, PERSON

import omnigraph_spark

__all__ = ["CLUSTER", "EXECUTOR", "KINDS", "LOCAL", "ROWS", "TASKS", "Trouble", "job"]

EXECUTOR, TASKS = "an executor killed", "each task failing once"
KINDS = ("a transaction", "an append", "an upsert")
ROWS = 2_000
CLUSTER = "local-cluster[2,1,1024]"
"""Two workers with one core each, processes of their own."""
LOCAL = "local[2,4]"
"""Tasks in the driver's JVM, which may fail three times."""
_PARTITIONS = 4
_CONFIG = {
    "spark.ui.enabled": False,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": 3,
    "spark.sql.execution.arrow.maxRecordsPerBatch": 100,
    "spark.speculation": True,
    "spark.task.maxFailures": 4,
    "spark.executorEnv.PYTHONPATH": str(Path(__file__).parent),
}


@attrs.frozen
class Trouble:
    """What befalls the tasks through which rows pass; it leaves a mark, and happens once."""

    kind: str | None
    marks: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Let rows pass, and strike in their midst."""
        for number, batch in enumerate(batches):
            yield batch
            if number == 1:
                self._strike()

    def _strike(self) -> None:
        context = TaskContext.get()
        assert context is not None
        if self.kind == TASKS and self._is_first(f"task-{context.partitionId()}"):
            msg = "this task fails once"
            raise RuntimeError(msg)
        if self.kind == EXECUTOR and self._is_first("executor"):
            daemon = os.getppid()
            status = Path(f"/proc/{daemon}/stat").read_text()
            os.kill(int(status.rpartition(")")[2].split()[1]), signal.SIGKILL)

    def _is_first(self, name: str) -> bool:
        try:
            os.close(os.open(Path(self.marks) / name, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True


def people(spark: SparkSession, trouble: Trouble) -> DataFrame:
    """Make the rows, which pass through the trouble on their way."""
    rows = spark.range(0, ROWS, 1, _PARTITIONS).selectExpr(
        "concat('p', id) as id", "cast(null as string) as name", "cast(id as int) as age"
    )
    return rows.mapInArrow(trouble, rows.schema)


def job(  # noqa: PLR0917 - the runner of processes gives them by position
    master: str,
    uri: str,
    storage: Mapping[str, str] | None,
    kind: str,
    trouble: str | None,
    marks: str,
) -> None:
    """Write as a user would."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    spark = omnigraph_spark.session("job", master, _CONFIG)
    rows = people(spark, Trouble(trouble, marks))
    try:
        if kind == "a transaction":
            _together(spark, rows, uri, storage)
        else:
            _alone(rows, uri, storage, "upsert" if kind == "an upsert" else "append")
    finally:
        spark.stop()


def _together(
    spark: SparkSession, rows: DataFrame, uri: str, storage: Mapping[str, str] | None
) -> None:
    edges = spark.range(0, ROWS).selectExpr(
        "concat('k', id) as id", "concat('p', id) as src", "'a' as dst"
    )
    with omnigraph_spark.transaction(
        spark, uri, storage_options=storage, operation_hash="the job"
    ) as tx:
        tx.upsert(PERSON, rows)
        tx.append(KNOWS, edges)


def _alone(rows: DataFrame, uri: str, storage: Mapping[str, str] | None, mode: str) -> None:
    options: dict[str, Any] = {
        "table": PERSON,
        "write_mode": mode,
        "operation_hash": "the job",
        **{f"storage.{key}": value for key, value in (storage or {}).items()},
    }
    rows.write.format("omnigraph").options(**options).mode("append").save(uri)
