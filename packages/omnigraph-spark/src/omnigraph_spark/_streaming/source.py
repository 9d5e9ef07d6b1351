"""Reading the changes of a table as a stream: what Spark calls for ``readStream``.

Always: an offset names the table and the last commit that was read, and the first one names no
commit, so that it is the same whenever Spark asks. A commit is never torn between two batches. One
process of the driver asks this object where the stream is; others, on executors, read what they are
given.
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

from omnigraph_spark._errors.carrying import carrying
from omnigraph_spark._streaming.columns import stream_schema, wanted_names, with_stamp
from omnigraph_spark._streaming.dealing import Share, dealt
from omnigraph_spark._streaming.following import BEGINNING, Follower, Plan
from omnigraph_spark._types import arrow_schema
from omnigraph_spark.errors import InvalidOptions

__all__ = ["StreamSource"]

_COMMIT, _TABLE = "commit", "table"
Offset = dict[str, Any]


class StreamSource(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The changes of one table, commit by commit."""

    def __init__(self, plan: Plan, given: StructType) -> None:
        self._plan = plan
        self._follower = Follower(plan)
        self._until: str | None = None
        wanted = stream_schema(plan.columns, table_key=plan.options.table)
        if _shape(given) != _shape(wanted):
            problem = (
                f"the schema is that of the changes, found {given.simpleString()}, expected "
                f"{wanted.simpleString()}; leave .schema(…) out, and name properties in 'columns'"
            )
            raise InvalidOptions(problems=(problem,))
        self._schema = arrow_schema(given)

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's names, here and below
        """Tell where a stream begins: with no commit read."""
        return self._offset(BEGINNING)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Tell how much is read at once: files stand for commits."""
        options = self._plan.options
        if options.max_rows_per_batch is not None:
            return ReadMaxRows(options.max_rows_per_batch)
        if options.max_commits_per_batch is not None:
            return ReadMaxFiles(options.max_commits_per_batch)
        return ReadAllAvailable()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """Tell how far the next batch goes."""
        with carrying():
            begin = self._commit_of(start)
            head = self._until or self._follower.head()
            if begin == head:
                self._follower.rest()
                return start
            return self._offset(self._follower.reached(begin, head, _Counted(limit)))

    def reportLatestOffset(self) -> Offset:  # noqa: N802
        """Tell where the branch is, for the progress of the query."""
        with carrying():
            return self._offset(self._follower.head())

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """End with what is there now."""
        with carrying():
            self._until = self._follower.head()

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """Deal out what a batch reads."""
        if start == end:
            return []
        with carrying():
            changes = self._follower.changes(self._commit_of(start), self._commit_of(end))
            return list(dealt(changes, rows=self._plan.options.partition_rows))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read changes, in a task."""
        with carrying():
            if not isinstance(partition, Share):
                return
            table_key = self._plan.options.table
            for each in partition.changes:
                rows = each.part.rows(wanted_names(self._schema))
                yield from with_stamp(rows, each.stamp, self._schema, table_key=table_key)

    def stop(self) -> None:
        """Let go of the repository."""
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
class _Counted:
    """Counts what one batch may have; a commit that is larger is a batch alone."""

    limit: ReadLimit
    commits: int = 0
    rows: int = 0

    def takes(self, rows: int) -> bool:
        """Tell whether one more commit belongs to the batch."""
        self.commits += 1
        self.rows += rows
        if self.commits == 1:
            return True
        if isinstance(self.limit, ReadMaxFiles):
            return self.commits <= self.limit.max_files
        return not isinstance(self.limit, ReadMaxRows) or self.rows <= self.limit.max_rows


def _shape(schema: StructType) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in schema]
