"""The checks that a transaction makes of rows, done by Spark where the rows are.

Always: what is looked at is what was written, and not the data frame once more, which might give
other rows by now. The driver sees some of the ids that are wrong, and no others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final

import attrs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from omnigraph_l2 import EdgeType, GraphSchema, ReadTarget, SharedWork, Snapshot
from omnigraph_l2.errors import DanglingEdges, DuplicateIds
from omnigraph_spark._writing.frames import rows_of

__all__ = ["Checks", "counted", "nodes_of"]

_SHOWN: Final = 10
_ENDS: Final = ("src", "dst")


@attrs.frozen
class Checks:
    """The checks of one transaction."""

    spark: SparkSession
    snapshot: Snapshot
    done: Mapping[str, SharedWork]
    """What was done to tables."""
    appended: frozenset[str]
    """Tables to which rows were added whose ids nobody has looked up yet."""
    takes_away: frozenset[str]
    """Tables that rows were taken out of."""

    def ids(self) -> None:
        """Refuse ids that stand twice."""
        for key, work in self.done.items():
            if not work.added:
                continue
            new = rows_of(self.spark, work.after, ["id"], fragments=work.added)
            frames = [(new, 1, 0)]
            if work.before.count and key in self.appended:
                frames.append((rows_of(self.spark, work.before, ["id"]), 0, 1))
            found = counted(frames).where("(new > 1) or (new > 0 and old > 0)")
            wrong = found.orderBy("id").limit(_SHOWN).collect()
            if wrong:
                raise DuplicateIds(
                    table_key=key,
                    existing=tuple(row.id for row in wrong if row.old),
                    repeated=tuple(row.id for row in wrong if row.new > 1),
                )

    def ends(self) -> None:
        """Refuse edges that point to nothing."""
        schema = self.snapshot.schema
        for edge in schema.edges:
            key = edge.table_key
            for column in _ENDS:
                nodes = nodes_of(schema, edge, column)
                if self.takes_away.intersection(nodes):
                    self._ends(key, column, nodes, None)
                elif key in self.done:
                    self._ends(key, column, nodes, self.done[key].written)

    def _ends(
        self, key: str, column: str, nodes: Sequence[str], fragments: Sequence[int] | None
    ) -> None:
        edges = rows_of(self.spark, self._after(key), [column], fragments=fragments)
        frames = [(edges.withColumnRenamed(column, "id"), 1, 0)]
        frames += [(rows_of(self.spark, self._after(node), ["id"]), 0, 1) for node in nodes]
        missing = counted(frames).where("new > 0 and old = 0").orderBy("id").limit(_SHOWN).collect()
        if missing:
            raise DanglingEdges(
                table_key=key,
                column=column,
                node_tables=tuple(nodes),
                missing=tuple(row.id for row in missing),
            )

    def _after(self, key: str) -> ReadTarget:
        return self.done[key].after if key in self.done else self.snapshot.share(key)


def nodes_of(schema: GraphSchema, edge: EdgeType, column: str) -> list[str]:
    """Name the node tables in which an end of an edge may be."""
    named = edge.source if column == "src" else edge.target
    # Declared by the original program: then any node will do.
    return [node.table_key for node in schema.nodes if named is None or node.name == named]


def counted(frames: Sequence[tuple[DataFrame, int, int]]) -> DataFrame:
    """Count how often ids stand in new and in old rows.

    One aggregation: Spark cannot fail at it for lack of memory, as it can at a join.
    """
    marked = [
        frame.select("id", F.lit(new).alias("new"), F.lit(old).alias("old"))
        for frame, new, old in frames
    ]
    both = reduce(DataFrame.unionByName, marked)
    return both.groupBy("id").agg(F.sum("new").alias("new"), F.sum("old").alias("old"))
