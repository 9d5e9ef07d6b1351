"""The files of a table as a data frame, as they are: nothing is interpreted that they do not say.

Always: values of CSV and NDJSON are text, unless the mapping gives a schema, so that nothing is
lost before it is compared with what the table wants. A line that is none of the format is a row
with that line in ``LINE``. No row is read here, but what Spark needs to tell the columns.
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

from omnigraph_spark._jobs.loading.mapping import TableMapping

__all__ = ["LINE", "Source", "column", "has_scheme", "opened", "paths_of", "planning"]

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
class Source:
    """The files of one table."""

    frame: DataFrame
    """Its columns, and ``LINE`` where a line can be malformed."""
    columns: Mapping[str, sql.DataType]

    @property
    def row(self) -> Column:
        """A whole row, for a person to look at."""
        return F.struct(*map(column, self.columns))

    @property
    def line(self) -> Column:
        """The line that is malformed, or null."""
        return column(LINE) if LINE in self.frame.columns else F.lit(None).cast("string")

    @property
    def file(self) -> Column:
        """The file that a row is in."""
        return F.col("_metadata.file_path")


def opened(spark: SparkSession, table: TableMapping, base: str) -> Source:
    """Find the columns of the files; what Spark cannot is what it raises."""
    paths = paths_of(table, base)
    kind = _READERS[table.format]
    asked = {**_DEFAULTS[table.format], **_of_suffix(table), **table.options}
    options = {**_folded(asked), **_folded(_OURS[table.format])}
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
    return Source(frame=frame, columns={field.name: field.dataType for field in fields})


def paths_of(table: TableMapping, base: str) -> list[str]:
    """Name the files: what has no root is relative to the folder of the mapping."""
    folder = base.rstrip("/")
    return [
        path if path.startswith("/") or has_scheme(path) else f"{folder}/{path}"
        for path in table.files
    ]


def has_scheme(path: str) -> bool:
    """Tell whether a path says itself which store it is in: ``s3a://…``, ``file:/…``."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", path) is not None


def column(name: str) -> Column:
    """Name a column, whatever is in its name."""
    return F.col("`" + name.replace("`", "``") + "`")


@contextmanager
def planning() -> Iterator[None]:
    """Keep Spark from writing to the log what is told in an error."""
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _of_suffix(table: TableMapping) -> dict[str, str]:
    tabs = table.format == "csv" and all(".tsv" in path.lower() for path in table.files)
    return {"sep": "\t"} if tabs else {}


def _folded(options: Mapping[str, Any]) -> dict[str, Any]:
    """Write names as Spark compares them, so that the later one wins."""
    return {name.lower(): value for name, value in options.items()}
