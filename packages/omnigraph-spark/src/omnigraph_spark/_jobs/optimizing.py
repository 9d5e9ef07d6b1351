"""``optimize`` on a cluster: each table is optimized by a task of its own.

Always: what ``Repository.optimize`` does, with its safety: each table is published by itself, and a
task that is run again, or twice at once, finds nothing left to do.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

import attrs
import pyarrow as pa
from pyspark.sql import SparkSession

from omnigraph_l2 import OptimizedTable, OptimizeReport, Repository
from omnigraph_l2.errors import InvalidRequest, UnknownTable
from omnigraph_spark._jobs.at_once import at_once
from omnigraph_spark._jobs.progress import Progress, Tell
from omnigraph_spark._session.given import check_session
from omnigraph_spark._writing.frames import run

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
    progress: Tell | None = None,
) -> OptimizeReport:
    """Merge small fragments, drop deleted rows from files, build and extend wanted indexes."""
    if isinstance(tables, str):
        reason = f"tables are several keys of tables, found {tables!r}: put it in a list"
        raise InvalidRequest(what="This optimize", reason=reason)
    check_session(spark)
    telling = Progress(progress)
    storage = dict(storage_options) if storage_options else None
    with Repository.open(uri, storage, actor) as repo:
        # Nothing is optimized by this: wrong words are told before tasks start.
        repo.optimize(tables=(), branch=branch, actor=actor, message=message)
        known = repo.snapshot(branch).tables
        keys = sorted(known if tables is None else {*tables})
        for key in keys:
            if key not in known:
                raise UnknownTable(table_key=key, known=tuple(known))
        telling.say(f"{len(keys)} tables of {branch} of {repo.uri}")
        work = partial(
            _table,
            spark,
            Optimizing(uri=repo.uri, branch=branch, storage=storage, actor=actor, message=message),
        )
        done: dict[str, OptimizedTable] = {}
        for key, table in at_once(work, keys):
            done[key] = table
            telling.say(str(table))
        left = repo.optimize(tables=(), branch=branch, actor=actor, message=message)
        return OptimizeReport(tables=dict(sorted(done.items())), catalog=left.catalog)


@attrs.frozen(kw_only=True)
class Optimizing:
    """Optimizes one table: in a task."""

    uri: str
    branch: str
    storage: Mapping[str, str] | None = attrs.field(repr=False)
    actor: str | None
    message: str | None
    table_key: str = ""

    def __call__(self, _: pa.RecordBatchReader) -> OptimizedTable:
        """Do it."""
        with Repository.open(self.uri, self.storage, self.actor) as repo:
            done = repo.optimize(tables=[self.table_key], branch=self.branch, message=self.message)
            return done.tables[self.table_key]


def _table(spark: SparkSession, optimizing: Optimizing, key: str) -> OptimizedTable:
    (done,) = run(spark.range(0, 1, 1, 1), attrs.evolve(optimizing, table_key=key))
    found: OptimizedTable = done
    return found
