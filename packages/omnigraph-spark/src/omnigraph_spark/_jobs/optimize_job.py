"""The job ``optimize``: one task optimizes one table.

Invariant: the same as ``Repository.optimize``. Each table is published by itself; a task that runs
again, or twice at the same time, finds nothing left to do.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

import attrs
import pyarrow as pa
from pyspark.sql import SparkSession

from omnigraph_l2 import Repository
from omnigraph_l2.errors import InvalidRequest, UnknownTable
from omnigraph_l2.reports import OptimizedTable, OptimizeReport
from omnigraph_spark._jobs.job_progress import JobProgress, Listener
from omnigraph_spark._jobs.parallel_jobs import run_parallel
from omnigraph_spark._options.argument_checks import check_session
from omnigraph_spark._write.driver_frames import run_on_partitions

__all__ = ["optimize"]


def optimize(
    spark: SparkSession,
    uri: str,
    *,
    tables: Collection[str] | None = None,
    branch: str = "main",
    actor: str | None = None,
    message: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    progress: Listener | None = None,
) -> OptimizeReport:
    """Compact small fragments and deleted rows; build and extend declared indexes."""
    if isinstance(tables, str):
        reason = "expected a collection of table keys, or None for all"
        raise InvalidRequest(what=f"tables {tables!r}", reason=reason)
    check_session(spark)
    log = JobProgress(progress)
    storage = dict(storage_options) if storage_options else None
    with Repository.open(uri, storage, actor) as repo:
        # Optimizes nothing, but raises errors about the arguments before tasks start.
        repo.optimize(tables=(), branch=branch, actor=actor, message=message)
        known = repo.snapshot(branch).tables
        keys = sorted(known if tables is None else {*tables})
        for key in keys:
            if key not in known:
                raise UnknownTable(table_key=key, known=tuple(known))
        log.say(f"{len(keys)} tables of {branch} of {repo.uri}")
        work = partial(
            _optimize_table,
            spark,
            TableOptimizer(
                uri=repo.uri, branch=branch, storage=storage, actor=actor, message=message
            ),
        )
        done: dict[str, OptimizedTable] = {}
        for key, table in run_parallel(work, keys):
            done[key] = table
            log.say(str(table))
        left = repo.optimize(tables=(), branch=branch, actor=actor, message=message)
        return OptimizeReport(tables=dict(sorted(done.items())), catalog=left.catalog)


@attrs.frozen(kw_only=True)
class TableOptimizer:
    """Optimizes one table, in a task."""

    uri: str
    branch: str
    storage: Mapping[str, str] | None = attrs.field(repr=False)
    actor: str | None
    message: str | None
    table_key: str = ""

    def __call__(self, _: pa.RecordBatchReader) -> OptimizedTable:
        """Optimize it."""
        with Repository.open(self.uri, self.storage, self.actor) as repo:
            done = repo.optimize(tables=[self.table_key], branch=self.branch, message=self.message)
            return done.tables[self.table_key]


def _optimize_table(spark: SparkSession, optimizing: TableOptimizer, key: str) -> OptimizedTable:
    (done,) = run_on_partitions(spark.range(0, 1, 1, 1), attrs.evolve(optimizing, table_key=key))
    found: OptimizedTable = done
    return found
