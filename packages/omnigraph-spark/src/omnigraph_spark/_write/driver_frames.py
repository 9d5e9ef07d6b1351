"""Run tasks on data frames, and read rows of a table as a data frame.

Invariant: a data frame is evaluated once per call. The driver holds one message per task, never
rows.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from omnigraph_l2 import ReadTarget
from omnigraph_spark._convert.error_transport import cause_of
from omnigraph_spark._convert.spark_types import arrow_schema
from omnigraph_spark._write.executor_tasks import (
    ADDRESS,
    FragmentScan,
    PartitionTask,
    unpack_results,
)

__all__ = ["group_fragments", "map_batches", "read_rows", "run_on_partitions"]

_ROWS_OF_A_PART: Final = 4_000_000
_MOST_FRAGMENTS_OF_A_PART: Final = 256
_FILTERING: Final = threading.Lock()
"""Filters of warnings are shared by all threads."""


def run_on_partitions(frame: DataFrame, work: Callable[[pa.RecordBatchReader], Any]) -> list[Any]:
    """Run a function on each partition of a data frame; return the results."""
    task = PartitionTask(work, arrow_schema(frame.schema))
    try:
        rows = map_batches(frame, task, "message binary").collect()
    except PySparkException as error:
        cause = cause_of(error)
        if cause is None:
            raise
        raise cause from error
    return unpack_results(bytes(row.message) for row in rows)


def read_rows(
    spark: SparkSession,
    target: ReadTarget,
    columns: Sequence[str],
    *,
    fragments: Sequence[int] | None = None,
) -> DataFrame:
    """Return rows of a table as a data frame: of all fragments, or of some.

    Columns are text, or the addresses of rows.
    """
    kinds = ("bigint" if name == ADDRESS else "string" for name in columns)
    schema = ", ".join(f"`{name}` {kind}" for name, kind in zip(columns, kinds, strict=True))
    chosen = None if fragments is None else set(fragments)
    parts = tuple(group_fragments(target, chosen))
    if not parts:
        return spark.createDataFrame([], schema)
    numbers = spark.range(0, len(parts), 1, len(parts))
    return map_batches(numbers, FragmentScan(target, tuple(columns), parts), schema)


def map_batches(
    frame: DataFrame, work: Callable[[Any], Any], schema: str | StructType
) -> DataFrame:
    """Return the result of a function on the batches of each partition."""
    with _FILTERING, warnings.catch_warnings():
        # Spark warns that pandas is too new. It is not used here.
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        return frame.mapInArrow(work, schema)


def group_fragments(
    target: ReadTarget, wanted: set[int] | None = None
) -> Iterator[tuple[int, ...]]:
    """Group fragments into parts, each for one task."""
    group: list[int] = []
    rows = 0
    for fragment in target.fragments():
        if wanted is not None and fragment.number not in wanted:
            continue
        full = rows + fragment.rows > _ROWS_OF_A_PART or len(group) >= _MOST_FRAGMENTS_OF_A_PART
        if group and full:
            yield tuple(group)
            group, rows = [], 0
        group.append(fragment.number)
        rows += fragment.rows
    if group:
        yield tuple(group)
