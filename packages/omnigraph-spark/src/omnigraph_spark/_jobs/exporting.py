"""``export``: the tables of one moment as files that every program reads.

Always: all files are of one moment, and what was written is told last, in ``_export``: a folder
without that is of an export that did not end. Nothing is written over, unless that was asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

import attrs
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql import types as sql

from omnigraph_l2.errors import InvalidRequest, UnknownTable
from omnigraph_spark._graph import Graph, read_graph
from omnigraph_spark._jobs.output import folder_of, refuse_existing
from omnigraph_spark._jobs.progress import Progress, Tell
from omnigraph_spark.errors import InvalidOptions

__all__ = ["FORMATS", "ExportReport", "ExportedTable", "export"]

FORMATS: Final = {"parquet": "parquet", "csv": "csv", "ndjson": "json"}
_NO_CSV: Final = (sql.ArrayType, sql.MapType, sql.StructType, sql.BinaryType)
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
    """What was written."""

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
    progress: Tell | None = None,
) -> ExportReport:
    """Write the tables of one moment to ``<out>/nodes/<type>`` and ``<out>/edges/<type>``.

    ``out`` is any place that this Spark can write to.
    """
    telling = Progress(progress)
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        raise InvalidOptions(problems=(f"the format is one of {known}, found {format!r}",))
    graph = read_graph(
        spark, uri, branch=branch, version=version, commit=commit, as_of=as_of, tag=tag,
        storage_options=storage_options,
    )  # fmt: skip
    keys = _wanted(graph, tables)
    telling.say(f"{len(keys)} tables of {graph.branch} at version {graph.version} of {graph.uri}")
    frames = {key: graph.table(key) for key in keys}
    if format == "csv":
        _refuse_nested(frames)
    paths = {key: folder_of(out, key) for key in keys}
    summary = f"{out.rstrip('/')}/{_SUMMARY}"
    if not overwrite:
        refuse_existing(spark, [*paths.values(), summary])
    done = {}
    for key, frame in frames.items():
        rows = _written(frame, paths[key], FORMATS[format])
        done[key] = ExportedTable(table_key=key, path=paths[key], rows=rows)
        telling.say(str(done[key]))
    report = ExportReport(
        branch=graph.branch,
        version=graph.version,
        commit_id=graph.commit_id,
        format=format,
        tables=done,
        seconds=telling.seconds,
    )
    _sum_up(spark, report, summary)
    return report


def _wanted(graph: Graph, tables: Collection[str] | None) -> list[str]:
    if isinstance(tables, str):
        reason = f"tables are several keys of tables, found {tables!r}: put it in a list"
        raise InvalidRequest(what="An export", reason=reason)
    for key in tables or ():
        if key not in graph.keys:
            raise UnknownTable(table_key=key, known=graph.keys)
    return list(graph.keys if tables is None else dict.fromkeys(tables))


def _refuse_nested(frames: Mapping[str, DataFrame]) -> None:
    problems = tuple(
        f"{field.name!r} of {key} is {field.dataType.simpleString()}, which CSV cannot hold: "
        "export as parquet or ndjson"
        for key, frame in frames.items()
        for field in frame.schema
        if isinstance(field.dataType, _NO_CSV)
    )
    if problems:
        raise InvalidOptions(problems=problems)


def _written(frame: DataFrame, path: str, kind: str) -> int:
    seen = Observation()
    counted = frame.observe(seen, F.count(F.lit(1)).alias("rows"))
    options: dict[str, Any] = {"header": True} if kind == "csv" else {}
    if kind == "json":
        options["ignoreNullFields"] = False
    counted.write.mode("overwrite").format(kind).options(**options).save(path)
    return int(seen.get["rows"])


def _sum_up(spark: SparkSession, report: ExportReport, path: str) -> None:
    rows = [
        (key, each.path, each.rows, report.format, report.branch, report.version, report.commit_id)
        for key, each in report.tables.items()
    ]
    columns = "table string, path string, rows bigint, format string, branch string"
    columns += ", version bigint, commit string"
    frame = spark.createDataFrame(rows, columns).coalesce(1)
    frame.write.mode("overwrite").format("json").save(path)
