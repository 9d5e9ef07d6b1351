"""The job ``load``: write files to tables of a graph in one publish.

Invariant: all rows become visible together or none does. Every row that was read is loaded,
rejected with a reason, or left out by the mapping; otherwise the load fails. Memory of the driver
does not grow with the number of rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import attrs
from pyspark.sql import SparkSession

from omnigraph_spark._jobs.job_progress import JobProgress, Listener
from omnigraph_spark._jobs.load.load_result import LoadedTable, LoadReport
from omnigraph_spark._jobs.load.load_steps import LoadSteps, load_step
from omnigraph_spark._jobs.load.mapping_parser import parse_max_rejects, read_mapping
from omnigraph_spark._jobs.load.mapping_resolver import resolve_mapping
from omnigraph_spark._jobs.load.source_files import has_scheme
from omnigraph_spark._jobs.output_files import refuse_inside
from omnigraph_spark._write.spark_transaction import transaction

__all__ = ["load"]


def load(
    spark: SparkSession,
    uri: str,
    mapping: str | Path | Mapping[str, Any],
    *,
    branch: str = "main",
    actor: str | None = None,
    message: str | None = None,
    operation_hash: str | None = None,
    rejects: str | None = None,
    max_rejects: int | str | None = None,
    base: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    progress: Listener | None = None,
) -> LoadReport:
    """Load files into tables, as a mapping describes: a TOML file, or the same as a dict.

    Paths are relative to the folder of the mapping, or to ``base``. Rejected rows are written below
    ``rejects``; ``max_rejects`` limits their number if the mapping does not. A load with an
    ``operation_hash`` that was published before does nothing.
    """
    log = JobProgress(progress)
    if rejects is not None:
        refuse_inside(uri, "rejects", rejects)
    wanted, folder = read_mapping(mapping)
    if max_rejects is not None:
        wanted = attrs.evolve(wanted, max_rejects=parse_max_rejects(max_rejects))
    if base is not None:
        folder = _absolute_path(base)
    tables: dict[str, LoadedTable] = {}
    aside = None
    with ExitStack() as resources, load_step("Publishing", "the tables"):
        with transaction(
            spark,
            uri,
            branch=branch,
            actor=actor,
            message=message,
            operation_hash=operation_hash,
            storage_options=storage_options,
        ) as tx:
            repeated = tx.is_repeat
            if not repeated:
                work = LoadSteps(spark, tx, log, resources)
                rows = work.validate(resolve_mapping(spark, wanted, tx.snapshot.schema, folder))
                where = None if rejects is None else f"{_absolute_path(rejects)}/{tx.commit_id}"
                aside = work.write_rejects(rows, where, wanted.max_rejects)
                tables = work.write(rows)
                log.say("checking what was written, and publishing")
        report = LoadReport(
            uri=uri,
            branch=branch,
            commit_id=None if tx.commit is None else tx.commit.graph_commit_id,
            repeated=repeated,
            tables=tables,
            rejects=aside,
            seconds=log.seconds,
        )
    log.say(str(report).partition("\n")[0])
    return report


def _absolute_path(location: str) -> str:
    """Return a local folder as absolute path; leave URIs as they are."""
    return location.rstrip("/") if has_scheme(location) else os.path.abspath(location)  # noqa: PTH100
