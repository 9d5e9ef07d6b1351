"""Write a data frame into one table: the writer that Spark calls for ``df.write``.

Invariant: rows become visible once or not at all, whatever runs again. Planning, tasks and commit
run in separate processes; what they share is in the pickled ``WritePlan``, with a name by which the
commit is found again. ``abort`` deletes nothing, because files may be published if only the reply
was lost; ``repo.cleanup`` removes orphans.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import attrs
import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from omnigraph_l2 import ChangeTarget, Repository, Transaction, WriteTarget
from omnigraph_l2.errors import CommitOutcomeUnknown, DataProblem, InvalidData
from omnigraph_spark._convert.error_transport import transport_errors
from omnigraph_spark._convert.spark_types import schema_for_write
from omnigraph_spark._options.write_options import DELETE, OVERWRITE, UPSERT, WriteOptions
from omnigraph_spark._write.executor_tasks import (
    PartitionTask,
    RowDelete,
    RowInsert,
    RowUpsert,
    unpack_results,
)

__all__ = ["TableWriter", "WritePlan", "plan_write", "publish_parts"]

_ATTEMPTS: Final = 5
_PAUSE_SECONDS: Final = 1.0


@dataclass(frozen=True)
class _TaskResult(WriterCommitMessage):
    """The message of one task."""

    packed: bytes


@attrs.frozen(kw_only=True)
class WritePlan:
    """What is decided before the first task."""

    options: WriteOptions
    task: PartitionTask
    version: int
    """The version of the graph on which the write is based."""
    table_version: int
    operation_hash: str
    """The name by which the commit is found."""
    is_repeat: bool
    """Whether it was published before."""


class TableWriter(DataSourceArrowWriter):
    """Writes one data frame."""

    def __init__(self, plan: WritePlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a partition to files that are not visible yet, on an executor."""
        if self._plan.is_repeat:
            return _TaskResult(b"")
        return _TaskResult(self._plan.task.pack_result(iterator))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Publish what all tasks wrote."""
        if self._plan.is_repeat:
            return
        with transport_errors():
            publish_parts(
                self._plan, [each.packed for each in messages if isinstance(each, _TaskResult)]
            )

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Do nothing: files may be published, if only the reply was lost."""


def publish_parts(plan: WritePlan, messages: Sequence[bytes]) -> None:
    """Publish what tasks wrote, once under the name of the plan."""
    parts = unpack_results(messages)
    for left in range(_ATTEMPTS - 1, -1, -1):
        try:
            _publish(plan, parts)
        except CommitOutcomeUnknown:
            # A repeat under the same name finds the commit, if it was published.
            if not left:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def _publish(plan: WritePlan, parts: Sequence[Any]) -> None:
    options = plan.options
    with (
        options.location.open() as repo,
        _begin(repo, options, plan.operation_hash) as tx,
    ):
        if tx.is_repeat:
            return
        if options.expected_version is not None or options.mode == OVERWRITE:
            tx.expect(options.table, plan.table_version)
        checked_at = plan.version if options.checked else None
        if options.changes:
            tx.change_staged(options.table, parts, checked_at=checked_at)
        elif options.mode == OVERWRITE:
            tx.overwrite_staged(options.table, parts, checked_at=checked_at)
        else:
            tx.append_staged(options.table, parts, checked_at=checked_at)


def plan_write(options: WriteOptions, schema: StructType) -> WritePlan:
    """Decide what a write is based on, and check its columns."""
    name = options.operation_hash or f"spark-write:{uuid.uuid4()}"
    columns = schema_for_write(schema, table_key=options.table)
    with options.location.open() as repo, _begin(repo, options, name) as tx:
        target = tx.stage_changes(options.table) if options.changes else tx.stage(options.table)
        if options.expected_version is not None and not tx.is_repeat:
            tx.expect(options.table, options.expected_version)
        plan = WritePlan(
            options=options,
            task=PartitionTask(_row_change(options, target), columns),
            version=tx.snapshot.version,
            table_version=tx.snapshot.tables[options.table].table_version,
            operation_hash=name,
            is_repeat=tx.is_repeat,
        )
    _check_columns(target, options, columns)
    return plan


def _check_columns(
    target: WriteTarget | ChangeTarget, options: WriteOptions, columns: pa.Schema
) -> None:
    if options.mode != DELETE:
        target.check(columns)
    elif "id" not in columns.names:
        problem = DataProblem("id", f"is missing: rows are deleted by it, found {columns.names}")
        raise InvalidData(table_key=options.table, problems=(problem,))


def _row_change(options: WriteOptions, target: Any) -> Any:
    return {UPSERT: RowUpsert, DELETE: RowDelete}.get(options.mode, RowInsert)(target)


def _begin(repo: Repository, options: WriteOptions, name: str) -> Transaction:
    return repo.transaction(
        options.branch, actor=options.actor, message=options.message, operation_hash=name
    )
