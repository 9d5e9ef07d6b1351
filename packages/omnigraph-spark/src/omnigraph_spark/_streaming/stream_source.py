"""Read the changes of a table as a stream: the reader that Spark calls for ``readStream``.

Invariant: an offset names the table and the last commit that was read; the first offset names no
commit, so that it never differs. A commit is never split between batches. One process of the driver
asks for offsets; executors read partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from omnigraph_spark._convert.error_transport import transport_errors
from omnigraph_spark._convert.spark_types import arrow_schema
from omnigraph_spark._streaming.change_columns import change_schema, row_columns, stamp_changes
from omnigraph_spark._streaming.change_partitions import ChangePartition, group_parts
from omnigraph_spark._streaming.commit_follower import BEGINNING, CommitFollower, StreamPlan
from omnigraph_spark.errors import InvalidOptions

__all__ = ["ChangeStreamReader"]

_COMMIT, _TABLE = "commit", "table"
Offset = dict[str, Any]


class ChangeStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the changes of one table, commit by commit."""

    def __init__(self, plan: StreamPlan, schema: StructType) -> None:
        self._plan = plan
        self._follower = CommitFollower(plan)
        self._until: str | None = None
        wanted = change_schema(plan.columns, table_key=plan.options.table)
        if _shape(schema) != _shape(wanted):
            problem = (
                f"the schema is that of the changes, found {schema.simpleString()}, expected "
                f"{wanted.simpleString()}; leave .schema(…) out, and name properties in 'columns'"
            )
            raise InvalidOptions(problems=(problem,))
        self._schema = arrow_schema(schema)

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's names, here and below
        """Return the start of the stream: no commit was read."""
        return self._offset(BEGINNING)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the size of a batch. Files stand for commits."""
        options = self._plan.options
        if options.max_rows_per_batch is not None:
            return ReadMaxRows(options.max_rows_per_batch)
        if options.max_commits_per_batch is not None:
            return ReadMaxFiles(options.max_commits_per_batch)
        return ReadAllAvailable()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """Return the end of the next batch."""
        with transport_errors():
            begin = self._commit_of(start)
            head = self._until or self._follower.head()
            if begin == head:
                self._follower.release()
                return start
            return self._offset(self._follower.find_batch_end(begin, head, _CommitLimit(limit)))

    def reportLatestOffset(self) -> Offset:  # noqa: N802
        """Return the head of the branch, for the progress of the query."""
        with transport_errors():
            return self._offset(self._follower.head())

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """End the stream at the current head."""
        with transport_errors():
            self._until = self._follower.head()

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Partition a batch."""
        if start == end:
            return []
        with transport_errors():
            changes = self._follower.changes(self._commit_of(start), self._commit_of(end))
            return list(group_parts(changes, rows=self._plan.options.partition_rows))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read changes, in a task."""
        with transport_errors():
            if not isinstance(partition, ChangePartition):
                return
            table_key = self._plan.options.table
            for each in partition.changes:
                rows = each.part.rows(row_columns(self._schema))
                yield from stamp_changes(rows, each.stamp, self._schema, table_key=table_key)

    def stop(self) -> None:
        """Close the repository."""
        self._follower.close()

    def _offset(self, commit: str) -> Offset:
        return {_COMMIT: commit, _TABLE: self._plan.options.table}

    def _commit_of(self, offset: Offset) -> str:
        table = self._plan.options.table
        followed = offset.get(_TABLE, table)
        if followed != table:
            problem = (
                f"'table' is {table}, and the checkpoint is that of a stream of {followed}; give "
                "this stream a checkpoint of its own"
            )
            raise InvalidOptions(problems=(problem,))
        commit: str = offset[_COMMIT]
        return commit


@attrs.define
class _CommitLimit:
    """Counts the commits and rows of one batch. A commit above the limit is a batch alone."""

    limit: ReadLimit
    commits: int = 0
    rows: int = 0

    def takes(self, rows: int) -> bool:
        """Return whether one more commit fits into the batch."""
        self.commits += 1
        self.rows += rows
        if self.commits == 1:
            return True
        if isinstance(self.limit, ReadMaxFiles):
            return self.commits <= self.limit.max_files
        return not isinstance(self.limit, ReadMaxRows) or self.rows <= self.limit.max_rows


def _shape(schema: StructType) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in schema]
