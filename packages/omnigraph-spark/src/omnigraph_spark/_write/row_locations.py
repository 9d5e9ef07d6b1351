"""Find the rows that a data frame changes, and partition the frame accordingly.

Invariant: the changed rows do not depend on how they are found. In a small table each task looks
its ids up, which costs at most one pass over the ids for many rows. For a large table that would
happen too often, so Spark joins.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name in every text about Spark
from pyspark.sql.types import StringType

from omnigraph_l2 import ReadTarget
from omnigraph_spark._write.driver_frames import read_rows
from omnigraph_spark._write.executor_tasks import ADDRESS

__all__ = ["locate_rows", "with_binary_ids"]

_ROWS_LOOKED_UP: Final = 20_000_000
_FRAGMENTS_LOOKED_UP: Final = 64
_GROUP: Final = "_omnigraph_group"


def with_binary_ids(frame: DataFrame) -> DataFrame:
    """Compare ids by bytes, whatever collation the frame has."""
    kind = frame.schema["id"].dataType
    if not isinstance(kind, StringType) or kind.simpleString() == "string":
        return frame
    return frame.withColumn("id", F.collate(F.col("id"), "UTF8_BINARY"))


def locate_rows(frame: DataFrame, table: ReadTarget) -> DataFrame:
    """Partition rows so that an id is in one partition; for large tables, add addresses."""
    frame = with_binary_ids(frame)
    many = len(table.fragments()) > _FRAGMENTS_LOOKED_UP
    if not (table.count > 0 and (many or table.count > _ROWS_LOOKED_UP)):
        return frame.repartition(F.col("id"))
    places = read_rows(frame.sparkSession, table, ("id", ADDRESS)).hint("merge")
    joined = frame.join(places, "id", "left")
    # Rows of one fragment are in one partition; new rows are partitioned by their id.
    group = F.coalesce(F.shiftright(F.col(ADDRESS), 32), -1 - F.pmod(F.hash("id"), F.lit(1024)))
    name = _GROUP
    while name in joined.columns:
        name += "_"
    partitioned = joined.withColumn(name, group).repartition(F.col(name))
    return partitioned.drop(name).sortWithinPartitions(ADDRESS)
