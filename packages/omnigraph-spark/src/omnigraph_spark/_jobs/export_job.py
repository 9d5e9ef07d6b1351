"""The job ``export``: write the tables of one snapshot as files.

Invariant: all files come from one snapshot. The summary ``_export`` is written last and removed
first, so without a table in it the export is incomplete. Existing files are replaced only with
``overwrite``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final

import attrs
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from omnigraph_l2.errors import InvalidRequest, UnknownTable
from omnigraph_spark._graph.graph_frames import Graph, read_graph
from omnigraph_spark._jobs.job_progress import JobProgress, Listener
from omnigraph_spark._jobs.output_files import (
    check_output,
    empty_folder,
    folder_of,
    path_exists,
    refuse_existing,
    refuse_inside,
    refuse_unwritable,
    write_files,
)
from omnigraph_spark._jobs.step_errors import job_step
from omnigraph_spark._options.output_formats import FORMATS

__all__ = ["ExportReport", "ExportedTable", "export"]

_SUMMARY: Final = "_export"


@attrs.frozen(kw_only=True)
class ExportedTable:
    """What was written of one table."""

    table_key: str
    path: str
    rows: int

    def __str__(self) -> str:
        return f"{self.table_key}: {self.rows:,} rows in {self.path}"


@attrs.frozen(kw_only=True)
class ExportReport:
    """What an export wrote."""

    branch: str
    version: int
    commit_id: str | None
    format: str
    tables: Mapping[str, ExportedTable]
    seconds: float

    def __str__(self) -> str:
        rows = sum(each.rows for each in self.tables.values())
        head = f"{rows:,} rows of {self.branch} at version {self.version} in {self.seconds:.1f} s"
        return "\n".join([head, *(f"  {each}" for each in self.tables.values())])


def export(
    spark: SparkSession,
    uri: str,
    out: str,
    *,
    branch: str = "main",
    version: int | None = None,
    commit: str | None = None,
    as_of: datetime | None = None,
    tag: str | None = None,
    tables: Collection[str] | None = None,
    format: str = "parquet",  # noqa: A002 - Spark's name
    overwrite: bool = False,
    storage_options: Mapping[str, str] | None = None,
    progress: Listener | None = None,
) -> ExportReport:
    """Write the tables of one snapshot to ``<out>/nodes/<type>`` and ``<out>/edges/<type>``.

    ``out`` is any location to which this Spark can write.
    """
    log = JobProgress(progress)
    check_output(out, format, FORMATS)
    graph = read_graph(
        spark, uri, branch=branch, version=version, commit=commit, as_of=as_of, tag=tag,
        storage_options=storage_options,
    )  # fmt: skip
    refuse_inside(graph.uri, "out", out)
    keys = _select_tables(graph, tables)
    log.say(f"{len(keys)} tables of {graph.branch} at version {graph.version} of {graph.uri}")
    frames = {key: _open_table(graph, key) for key in keys}
    refuse_unwritable(spark, {key: frame.schema for key, frame in frames.items()}, format)
    paths = {key: folder_of(out, key) for key in keys}
    summary = f"{out.rstrip('/')}/{_SUMMARY}"
    if not overwrite:
        refuse_existing(spark, [*paths.values(), summary])
    elif path_exists(spark, summary):
        empty_folder(spark, summary)
    done = {}
    for key, frame in frames.items():
        with job_step("Writing", key):
            rows = write_files(frame, paths[key], format, overwrite=overwrite, counts=_rows())[
                "rows"
            ]
        done[key] = ExportedTable(table_key=key, path=paths[key], rows=rows)
        log.say(str(done[key]))
    report = ExportReport(
        branch=graph.branch,
        version=graph.version,
        commit_id=graph.commit_id,
        format=format,
        tables=done,
        seconds=log.seconds,
    )
    _write_summary(spark, report, summary)
    return report


def _select_tables(graph: Graph, tables: Collection[str] | None) -> list[str]:
    if isinstance(tables, str):
        reason = "expected a collection of table keys, or None for all"
        raise InvalidRequest(what=f"tables {tables!r}", reason=reason)
    for key in tables or ():
        if key not in graph.keys:
            raise UnknownTable(table_key=key, known=graph.keys)
    return list(graph.keys if tables is None else dict.fromkeys(tables))


def _open_table(graph: Graph, key: str) -> DataFrame:
    with job_step("Reading", key):
        return graph.table(key)


def _rows() -> dict[str, Column]:
    return {"rows": F.count(F.lit(1))}  # made when there is a session


def _write_summary(spark: SparkSession, report: ExportReport, path: str) -> None:
    rows = [
        (key, each.path, each.rows, report.format, report.branch, report.version, report.commit_id)
        for key, each in report.tables.items()
    ]
    columns = "table string, path string, rows bigint, format string, branch string"
    columns += ", version bigint, commit string"
    frame = spark.createDataFrame(rows, columns).coalesce(1)
    with job_step("Writing", path):
        write_files(frame, path, "ndjson", overwrite=True, counts=_rows())
