"""Between data frames and tables of a repository: rows out to files, rows of a table in.

Always: a data frame is evaluated once for each call. The driver holds a message for each task, and
no row.
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
from omnigraph_spark._errors.carrying import cause_of
from omnigraph_spark._types import arrow_schema
from omnigraph_spark._writing.tasks import ADDRESS, Reading, Task, unpacked

__all__ = ["mapped", "parts_of", "rows_of", "run"]

_ROWS_OF_A_PART: Final = 4_000_000
_MOST_FRAGMENTS_OF_A_PART: Final = 256
_FILTERING: Final = threading.Lock()
"""Python's filters of warnings are those of all threads."""


def run(frame: DataFrame, work: Callable[[pa.RecordBatchReader], Any]) -> list[Any]:
    """Do something with each partition of a data frame; give what came of it."""
    task = Task(work, arrow_schema(frame.schema))
    try:
        rows = mapped(frame, task, "message binary").collect()
    except PySparkException as error:
        cause = cause_of(error)
        if cause is None:
            raise
        raise cause from error
    return unpacked(bytes(row.message) for row in rows)


def rows_of(
    spark: SparkSession,
    target: ReadTarget,
    columns: Sequence[str],
    *,
    fragments: Sequence[int] | None = None,
) -> DataFrame:
    """Give rows of a table as a data frame: of all fragments, or of some.

    Its columns are texts, exactly, or the places of rows.
    """
    kinds = ("bigint" if name == ADDRESS else "string" for name in columns)
    schema = ", ".join(f"`{name}` {kind}" for name, kind in zip(columns, kinds, strict=True))
    chosen = None if fragments is None else set(fragments)
    parts = tuple(parts_of(target, chosen))
    if not parts:
        return spark.createDataFrame([], schema)
    numbers = spark.range(0, len(parts), 1, len(parts))
    return mapped(numbers, Reading(target, tuple(columns), parts), schema)


def mapped(frame: DataFrame, work: Callable[[Any], Any], schema: str | StructType) -> DataFrame:
    """Give what a function makes of the batches of each partition."""
    with _FILTERING, warnings.catch_warnings():
        # Spark imports pandas, and says that it is too new. Nothing here uses it.
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        return frame.mapInArrow(work, schema)


def parts_of(target: ReadTarget, wanted: set[int] | None = None) -> Iterator[tuple[int, ...]]:
    """Put fragments together, as many as one task reads."""
    held: list[int] = []
    rows = 0
    for fragment in target.fragments():
        if wanted is not None and fragment.number not in wanted:
            continue
        full = rows + fragment.rows > _ROWS_OF_A_PART or len(held) >= _MOST_FRAGMENTS_OF_A_PART
        if held and full:
            yield tuple(held)
            held, rows = [], 0
        held.append(fragment.number)
        rows += fragment.rows
    if held:
        yield tuple(held)
