"""Writing a data frame into one table: what Spark calls for ``df.write.format("omnigraph")``.

Always: rows are visible once or not at all, whatever is run again. Planning, each task, and the
commit are processes of their own: what the rows stand on is settled at planning and travels in
this object, and each write has a name by which its commit is known. What ``abort`` is told may be
published, where only the reply was lost: it deletes nothing, and ``repo.cleanup`` finds the files.
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
from omnigraph_spark._errors.carrying import carrying
from omnigraph_spark._source.pinning import opened
from omnigraph_spark._types import written_schema
from omnigraph_spark._writing.options import DELETE, OVERWRITE, UPSERT, WriteOptions
from omnigraph_spark._writing.tasks import Deleting, Task, Upserting, Writing, unpacked

__all__ = ["Plan", "TableWriter", "planned", "published"]

_ATTEMPTS: Final = 5
_PAUSE_SECONDS: Final = 1.0


@dataclass(frozen=True)
class _Written(WriterCommitMessage):
    """What a task sends home."""

    packed: bytes


@attrs.frozen(kw_only=True)
class Plan:
    """What was settled before the first task."""

    options: WriteOptions
    task: Task
    version: int
    """The version of the graph on which the rows stand."""
    table_version: int
    operation_hash: str
    """What the commit is known by."""
    is_repeat: bool
    """Whether it was done before, so that there is nothing to do."""


class TableWriter(DataSourceArrowWriter):
    """One write."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a partition, seen by nobody: on an executor."""
        if self._plan.is_repeat:
            return _Written(b"")
        return _Written(self._plan.task.packed(iterator))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Publish what all tasks wrote."""
        if self._plan.is_repeat:
            return
        with carrying():
            published(self._plan, [each.packed for each in messages if isinstance(each, _Written)])

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Delete nothing: see above."""


def published(plan: Plan, messages: Sequence[bytes]) -> None:
    """Publish what tasks wrote, once for all times under the name of the plan."""
    parts = unpacked(messages)
    for left in range(_ATTEMPTS - 1, -1, -1):
        try:
            _publish(plan, parts)
        except CommitOutcomeUnknown:
            # Done again under the same name: if it was published, that is found.
            if not left:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def _publish(plan: Plan, parts: Sequence[Any]) -> None:
    options = plan.options
    with (
        opened(options.place) as repo,
        _begun(repo, options, plan.operation_hash) as tx,
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


def planned(options: WriteOptions, schema: StructType) -> Plan:
    """Settle what a write stands on, and see whether its columns fit."""
    name = options.operation_hash or f"spark-write:{uuid.uuid4()}"
    columns = written_schema(schema, table_key=options.table)
    with opened(options.place) as repo, _begun(repo, options, name) as tx:
        target = tx.stage_changes(options.table) if options.changes else tx.stage(options.table)
        if options.expected_version is not None and not tx.is_repeat:
            tx.expect(options.table, options.expected_version)
        plan = Plan(
            options=options,
            task=Task(_work(options, target), columns),
            version=tx.snapshot.version,
            table_version=tx.snapshot.tables[options.table].table_version,
            operation_hash=name,
            is_repeat=tx.is_repeat,
        )
    _check(target, options, columns)
    return plan


def _check(target: WriteTarget | ChangeTarget, options: WriteOptions, columns: pa.Schema) -> None:
    if options.mode != DELETE:
        target.check(columns)
    elif "id" not in columns.names:
        problem = DataProblem("id", f"is missing: rows are deleted by it, found {columns.names}")
        raise InvalidData(table_key=options.table, problems=(problem,))


def _work(options: WriteOptions, target: Any) -> Any:
    return {UPSERT: Upserting, DELETE: Deleting}.get(options.mode, Writing)(target)


def _begun(repo: Repository, options: WriteOptions, name: str) -> Transaction:
    return repo.transaction(
        options.branch, actor=options.actor, message=options.message, operation_hash=name
    )
