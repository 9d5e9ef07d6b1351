"""Write a stream into one table: the writer that Spark calls for ``writeStream``.

Invariant: a batch is published once. Its ``operation_hash`` consists of the id of the query, which
the checkpoint keeps, and the number of the batch. Spark creates a writer for each commit, and only
tasks know the id of the query, so their messages carry it.
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
from omnigraph_spark._convert.error_transport import transport_errors
from omnigraph_spark._write.table_writer import WritePlan, publish_parts

__all__ = ["TableStreamWriter"]

_QUERY: Final = "sql.streaming.queryId"
_NAMELESS: Final = (
    f"Spark passes no id of the query ({_QUERY}) to tasks, so batches have no name; write from "
    "foreachBatch instead"
)


@dataclass(frozen=True)
class _BatchResult(WriterCommitMessage):
    """The message of one task of a batch."""

    packed: bytes
    query: str


class TableStreamWriter(DataSourceStreamArrowWriter):
    """Writes the batches of a stream."""

    def __init__(self, plan: WritePlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a partition to files that are not visible yet, on an executor."""
        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(_QUERY)
        if not query:  # batches of two queries would have one name, and one of them be left out
            with transport_errors():
                raise InvalidRequest(what="stream", reason=_NAMELESS)
        return _BatchResult(self._plan.task.pack_result(iterator), query)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Publish what all tasks of the batch wrote, unless it was published before."""
        written = [each for each in messages if isinstance(each, _BatchResult)]
        if not written:
            return
        name = f"spark-stream:{written[0].query}:{batchId}"
        with transport_errors():
            plan = attrs.evolve(self._plan, operation_hash=name)
            publish_parts(plan, [each.packed for each in written])

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Do nothing: files may be published, if only the reply was lost."""
