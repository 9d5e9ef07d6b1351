"""Where the rows are that a data frame changes, so that each task changes what lies together.

Always: whichever way they are found, the rows that change are the same. In a table that is not
large each task looks its ids up by itself, which costs it one pass over the ids at most for many
rows; in a large one that would be done too often, and Spark joins.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name in every text about Spark
from pyspark.sql.types import StringType

from omnigraph_l2 import ReadTarget
from omnigraph_spark._writing.frames import rows_of
from omnigraph_spark._writing.tasks import ADDRESS

__all__ = ["located", "with_plain_ids"]

_ROWS_LOOKED_UP: Final = 20_000_000
_FRAGMENTS_LOOKED_UP: Final = 64
_GROUP: Final = "_omnigraph_group"


def with_plain_ids(frame: DataFrame) -> DataFrame:
    """Let ids be the same where all their letters are, whatever a frame says of collations."""
    kind = frame.schema["id"].dataType
    if not isinstance(kind, StringType) or kind.simpleString() == "string":
        return frame
    return frame.withColumn("id", F.collate(F.col("id"), "UTF8_BINARY"))


def located(frame: DataFrame, table: ReadTarget) -> DataFrame:
    """Deal rows out so that an id is in one partition only; where joined, with their places."""
    frame = with_plain_ids(frame)
    many = len(table.fragments()) > _FRAGMENTS_LOOKED_UP
    if not (table.count > 0 and (many or table.count > _ROWS_LOOKED_UP)):
        return frame.repartition(F.col("id"))
    places = rows_of(frame.sparkSession, table, ("id", ADDRESS)).hint("merge")
    joined = frame.join(places, "id", "left")
    # Rows of one fragment come together; those that are new are dealt out by their id.
    group = F.coalesce(F.shiftright(F.col(ADDRESS), 32), -1 - F.pmod(F.hash("id"), F.lit(1024)))
    name = _GROUP
    while name in joined.columns:
        name += "_"
    dealt = joined.withColumn(name, group).repartition(F.col(name))
    return dealt.drop(name).sortWithinPartitions(ADDRESS)
