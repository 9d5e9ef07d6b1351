"""Writing a stream into one table: what Spark calls for ``writeStream.format("omnigraph")``.

Always: a batch lands once for all times, whatever dies in between. Its name is made of the id of
the query, which the checkpoint keeps, and the number of the batch; the commit has it for its
``operation_hash``. Spark makes this object anew for each commit, and only tasks can tell the id of
the query: so it comes with their messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import attrs
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from omnigraph_l2.errors import InvalidRequest
from omnigraph_spark._errors.carrying import carrying
from omnigraph_spark._writing.writer import Plan, published

__all__ = ["StreamSink"]

_QUERY: Final = "sql.streaming.queryId"
_NAMELESS: Final = (
    f"Spark tells its tasks no id of the query ({_QUERY}), by which a batch is known; write from "
    "foreachBatch instead"
)


@dataclass(frozen=True)
class _Written(WriterCommitMessage):
    """What a task of a batch sends home."""

    packed: bytes
    query: str


class StreamSink(DataSourceStreamArrowWriter):
    """One batch of a stream."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a partition, seen by nobody: on an executor."""
        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(_QUERY)
        if not query:  # batches of two queries would have one name, and one of them be left out
            with carrying():
                raise InvalidRequest(what="Writing a stream", reason=_NAMELESS)
        return _Written(self._plan.task.packed(iterator), query)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Publish what all tasks of the batch wrote, unless it was published before."""
        written = [each for each in messages if isinstance(each, _Written)]
        if not written:
            return
        name = f"spark-stream:{written[0].query}:{batchId}"
        with carrying():
            plan = attrs.evolve(self._plan, operation_hash=name)
            published(plan, [each.packed for each in written])

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Delete nothing: what it is told of may be published, where only the reply was lost."""
