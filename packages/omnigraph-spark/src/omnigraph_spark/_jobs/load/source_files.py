"""Open the files of a table as a data frame, without interpreting values.

Invariant: values of CSV and NDJSON are text unless the mapping has a schema, so that nothing is
lost before values are compared with the table's types. A malformed line is a row with that line in
``LINE``. Only what Spark needs to find the columns is read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import attrs
from pyspark.logger import PySparkLogger
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql import types as sql

from omnigraph_spark._jobs.load.load_mapping import TableMapping

__all__ = [
    "LINE",
    "SourceFiles",
    "column",
    "has_scheme",
    "open_source",
    "paths_of",
    "quiet_planner",
]

LINE: Final = "_omnigraph_line"
_READERS: Final = {"parquet": "parquet", "csv": "csv", "ndjson": "json"}
_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "parquet": {"mergeSchema": True},
    # As RFC 4180 has it: a quote in quotes is doubled. Each file's header is compared.
    "csv": {"header": True, "enforceSchema": False, "escape": '"'},
    "ndjson": {"primitivesAsString": True},
}
_OURS: Final[Mapping[str, Mapping[str, Any]]] = {
    "parquet": {},
    "csv": {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": LINE},
    "ndjson": {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": LINE},
}


@attrs.frozen(kw_only=True)
class SourceFiles:
    """The files of one table."""

    frame: DataFrame
    """Its columns, and ``LINE`` where a line can be malformed."""
    columns: Mapping[str, sql.DataType]

    @property
    def row(self) -> Column:
        """A whole row, for a person to read."""
        return F.struct(*map(column, self.columns))

    @property
    def line(self) -> Column:
        """The malformed line, or null."""
        return column(LINE) if LINE in self.frame.columns else F.lit(None).cast("string")

    @property
    def file(self) -> Column:
        """The file of a row."""
        return F.col("_metadata.file_path")


def open_source(spark: SparkSession, table: TableMapping, base: str) -> SourceFiles:
    """Find the columns of the files. Errors of Spark are raised as they are."""
    paths = paths_of(table, base)
    kind = _READERS[table.format]
    wanted = {**_DEFAULTS[table.format], **_suffix_options(table), **table.options}
    options = {**_lower_names(wanted), **_lower_names(_OURS[table.format])}
    reader = spark.read.format(kind).options(**options)
    if table.schema is not None and table.format != "parquet":
        known = spark.createDataFrame([], table.schema).schema
    else:
        known = reader.load(paths).schema
    fields = [field for field in known if field.name != LINE]
    if table.format == "parquet":
        frame = reader.load(paths)
    else:
        with_line = sql.StructType([*fields, sql.StructField(LINE, sql.StringType())])
        frame = spark.read.format(kind).options(**options).schema(with_line).load(paths)
    return SourceFiles(frame=frame, columns={field.name: field.dataType for field in fields})


def paths_of(table: TableMapping, base: str) -> list[str]:
    """Return the paths; those without a root are relative to the folder of the mapping."""
    folder = base.rstrip("/")
    return [
        path if path.startswith("/") or has_scheme(path) else f"{folder}/{path}"
        for path in table.files
    ]


def has_scheme(path: str) -> bool:
    """Return whether a path has a scheme: ``s3a://…``, ``file:/…``."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", path) is not None


def column(name: str) -> Column:
    """Return a column by name, whatever characters the name has."""
    return F.col("`" + name.replace("`", "``") + "`")


@contextmanager
def quiet_planner() -> Iterator[None]:
    """Suppress log messages of Spark about errors that are raised anyway."""
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _suffix_options(table: TableMapping) -> dict[str, str]:
    tabs = table.format == "csv" and all(".tsv" in path.lower() for path in table.files)
    return {"sep": "\t"} if tabs else {}


def _lower_names(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with names in lower case, as Spark compares them; the later one wins."""
    return {name.lower(): value for name, value in options.items()}
