"""Integrity checks of a transaction, done by Spark.

Invariant: the written files are checked, not the data frame, which might produce other rows when it
is evaluated again. The driver sees only some of the wrong ids.
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
from omnigraph_spark._write.driver_frames import read_rows

__all__ = ["IntegrityChecks", "count_ids", "end_tables"]

_SHOWN: Final = 10
_ENDS: Final = ("src", "dst")


@attrs.frozen
class IntegrityChecks:
    """The checks of one transaction."""

    spark: SparkSession
    snapshot: Snapshot
    changes: Mapping[str, SharedWork]
    """What was changes to tables."""
    appended: frozenset[str]
    """Tables with new rows whose ids are not looked up yet."""
    removed_from: frozenset[str]
    """Tables from which rows were removed."""

    def check_ids(self) -> None:
        """Raise ``DuplicateIds`` if ids occur more than once."""
        for key, work in self.changes.items():
            if not work.added:
                continue
            new = read_rows(self.spark, work.after, ["id"], fragments=work.added)
            frames = [(new, 1, 0)]
            if work.before.count and key in self.appended:
                frames.append((read_rows(self.spark, work.before, ["id"]), 0, 1))
            found = count_ids(frames).where("(new > 1) or (new > 0 and old > 0)")
            wrong = found.orderBy("id").limit(_SHOWN).collect()
            if wrong:
                raise DuplicateIds(
                    table_key=key,
                    existing=tuple(row.id for row in wrong if row.old),
                    repeated=tuple(row.id for row in wrong if row.new > 1),
                )

    def check_ends(self) -> None:
        """Raise ``DanglingEdges`` if endpoints are missing."""
        schema = self.snapshot.schema
        for edge in schema.edges:
            key = edge.table_key
            for column in _ENDS:
                nodes = end_tables(schema, edge, column)
                if self.removed_from.intersection(nodes):
                    self._check_end(key, column, nodes, None)
                elif key in self.changes:
                    self._check_end(key, column, nodes, self.changes[key].written)

    def _check_end(
        self, key: str, column: str, nodes: Sequence[str], fragments: Sequence[int] | None
    ) -> None:
        edges = read_rows(self.spark, self._after(key), [column], fragments=fragments)
        frames = [(edges.withColumnRenamed(column, "id"), 1, 0)]
        frames += [(read_rows(self.spark, self._after(node), ["id"]), 0, 1) for node in nodes]
        missing = (
            count_ids(frames).where("new > 0 and old = 0").orderBy("id").limit(_SHOWN).collect()
        )
        if missing:
            raise DanglingEdges(
                table_key=key,
                column=column,
                node_tables=tuple(nodes),
                missing=tuple(row.id for row in missing),
            )

    def _after(self, key: str) -> ReadTarget:
        return self.changes[key].after if key in self.changes else self.snapshot.share(key)


def end_tables(schema: GraphSchema, edge: EdgeType, column: str) -> list[str]:
    """Return the node tables in which an endpoint can be."""
    named = edge.source if column == "src" else edge.target
    # Declared by the original program: then any node will do.
    return [node.table_key for node in schema.nodes if named is None or node.name == named]


def count_ids(frames: Sequence[tuple[DataFrame, int, int]]) -> DataFrame:
    """Count how often ids occur in new and in old rows.

    One aggregation: unlike a join it does not fail for lack of memory.
    """
    marked = [
        frame.select("id", F.lit(new).alias("new"), F.lit(old).alias("old"))
        for frame, new, old in frames
    ]
    both = reduce(DataFrame.unionByName, marked)
    return both.groupBy("id").agg(F.sum("new").alias("new"), F.sum("old").alias("old"))
