"""Files that jobs write: folders of tables, formats, and how they are written.

Invariant: the folder of a table is inside the folder of its job, whatever the type is called, and
no two tables share one. Values are exact, whatever the session's settings are. Spark checks, writes
and empties folders, because it knows file systems that Python does not.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import groupby
from typing import Any, Final
from urllib.parse import quote

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import types as sql

from omnigraph_spark._jobs.step_errors import job_step
from omnigraph_spark._options.output_formats import FORMATS
from omnigraph_spark.errors import InvalidOptions, OutputExists

__all__ = [
    "check_output",
    "empty_folder",
    "folder_of",
    "path_exists",
    "refuse_existing",
    "refuse_inside",
    "refuse_unwritable",
    "write_files",
]

_MOMENTS: Final[Mapping[str, Any]] = {
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    # The default, INT96, is read as nanoseconds by other programs; these end in 2262.
    "parquet": {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"},
    # RFC 4180: a quote inside quotes is doubled.
    "csv": {
        **_MOMENTS,
        "header": True,
        "escape": '"',
        "ignoreLeadingWhiteSpace": False,
        "ignoreTrailingWhiteSpace": False,
    },
    "ndjson": {**_MOMENTS, "ignoreNullFields": False},
}
_ENDED: Final = "mapreduce.fileoutputcommitter.marksuccessfuljobs"
_NO_CSV: Final = (sql.ArrayType, sql.MapType, sql.StructType, sql.BinaryType, sql.NullType)
_TIMES: Final = "spark.sql.timeType.enabled"
_CASE: Final = "spark.sql.caseSensitive"
_STORES: Final = {"s3a": "s3", "s3n": "s3"}
_LONGEST_NAME: Final = 200
"""File systems have 255 bytes for a name."""


def folder_of(out: str, table_key: str) -> str:
    """Return the folder of a table, with a name that any file system accepts."""
    kind, _, name = table_key.partition(":")
    return f"{out.rstrip('/')}/{kind}s/{_folder_name(name)}"


def _folder_name(name: str) -> str:
    quoted = quote(name, safe=" ")
    if quoted.startswith("."):
        # Hidden files, and some names lead out of the folder.
        quoted = f"%2E{quoted[1:]}"
    if len(quoted) <= _LONGEST_NAME:
        return quoted
    # With the hash it is longer than any complete name, so it equals none.
    whole = re.sub(r"%.?$", "", quoted[:_LONGEST_NAME])
    return f"{whole}~{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def check_output(out: str, format: str, formats: Collection[str]) -> None:  # noqa: A002 - Spark's
    """Raise ``InvalidOptions`` unless the location and the format are valid."""
    problems = []
    if not out.strip():
        problems.append(f"out must be a folder to write to, found {out!r}")
    if format not in formats:
        problems.append(f"the format is one of {', '.join(formats)}, found {format!r}")
    if problems:
        raise InvalidOptions(problems=tuple(problems))


def refuse_inside(repository: str, name: str, location: str) -> None:
    """Raise ``InvalidOptions`` if a job would write inside a repository."""
    within, place_of_it = _normalize(repository), _normalize(location)
    if place_of_it == within or place_of_it.startswith(f"{within}/"):
        problem = (
            f"{name} is {location!r}, which is in the repository {repository}: choose a "
            "location of its own"
        )
        raise InvalidOptions(problems=(problem,))


def _normalize(location: str) -> str:
    """Return one spelling of a location: Spark has other schemes, and local paths have links."""
    scheme, found, rest = location.partition(":/")
    if not found or scheme == "file":
        return os.path.realpath(f"/{rest.lstrip('/')}" if found else location)
    return f"{_STORES.get(scheme, scheme)}:/{posixpath.normpath(rest).rstrip('/')}"


def refuse_unwritable(
    spark: SparkSession, schemas: Mapping[str, sql.StructType], kind: str
) -> None:
    """Raise ``InvalidOptions`` with all columns that files of a format cannot hold."""
    problems = tuple(
        problem
        for key, schema in schemas.items()
        for problem in (
            *_find_case_conflicts(spark, schema, key),
            *_find_unwritable(spark, schema, key, kind),
        )
    )
    if problems:
        raise InvalidOptions(problems=problems)


def _find_case_conflicts(spark: SparkSession, schema: sql.StructType, key: str) -> Iterator[str]:
    if _is_on(spark, _CASE):
        return
    for _, found in groupby(sorted(schema.names, key=str.lower), str.lower):
        names = sorted(found, key=schema.names.index)
        if len(names) > 1:
            listed = " and ".join(map(repr, names))
            yield f"{listed} of {key} differ by case only, and {_CASE} is false: set it to true"


def _find_unwritable(
    spark: SparkSession, schema: sql.StructType, key: str, kind: str
) -> Iterator[str]:
    times = _is_on(spark, _TIMES)
    for field in schema:
        column = f"{field.name!r} of {key} is {field.dataType.simpleString()}"
        within = [*_nested_types(field.dataType)]
        if kind == "csv" and isinstance(field.dataType, _NO_CSV):
            yield f"{column}, which CSV cannot hold: write parquet or ndjson"
        elif any(isinstance(each, sql.StructType) and not each.fields for each in within):
            yield f"{column}, and Spark writes no struct without fields: leave the table out"
        elif not times and any(isinstance(each, sql.TimeType) for each in within):
            yield f"{column}, and {_TIMES} is false: set it to true"


def _nested_types(kind: sql.DataType) -> Iterator[sql.DataType]:
    """Yield a type and all types that it contains."""
    yield kind
    if isinstance(kind, sql.StructType):
        inner = [field.dataType for field in kind]
    elif isinstance(kind, sql.MapType):
        inner = [kind.keyType, kind.valueType]
    else:
        inner = [kind.elementType] if isinstance(kind, sql.ArrayType) else []
    for each in inner:
        yield from _nested_types(each)


def _is_on(spark: SparkSession, setting: str) -> bool:
    return str(spark.conf.get(setting, "false")).lower() == "true"


def refuse_existing(spark: SparkSession, paths: Collection[str]) -> None:
    """Raise ``OutputExists`` with all of the paths that exist."""
    found = tuple(path for path in paths if path_exists(spark, path))
    if found:
        raise OutputExists(paths=found)


def path_exists(spark: SparkSession, path: str) -> bool:
    """Return whether a path exists."""
    with job_step("Looking at", path):
        try:
            # With one missing path Spark logs a trace; with two it does not.
            both = [_escape_glob(path)] * 2
            spark.read.format("binaryFile").load(both).schema  # noqa: B018 - now it looks
        except AnalysisException as error:
            if error.getCondition() == "PATH_NOT_FOUND":
                return False
            raise
    return True


def _escape_glob(path: str) -> str:
    """Escape characters that Spark treats as a pattern in a path that it reads."""
    return "".join(f"\\{each}" if each in "{}[]*?\\" else each for each in path)


def write_files(
    frame: DataFrame, path: str, kind: str, *, overwrite: bool, counts: Mapping[str, Column]
) -> dict[str, int]:
    """Write rows as files of a format; return counts that were computed on the way."""
    seen = Observation()
    counted = frame.observe(seen, *(each.alias(name) for name, each in counts.items()))
    writer = counted.write.mode("overwrite" if overwrite else "error").format(FORMATS[kind])
    writer.options(**_OPTIONS[kind]).option(_ENDED, True).save(path)
    found: dict[str, int] = seen.get
    return found


def empty_folder(spark: SparkSession, path: str) -> None:
    """Remove all that is in a folder, including its success marker."""
    # A partitioned write without rows creates no file; Spark has no function to empty a folder.
    nothing = spark.range(0).selectExpr("id", "id AS part").write.mode("overwrite")
    with job_step("Emptying", path):
        parts = nothing.partitionBy("part").option("partitionOverwriteMode", "static")
        parts.option(_ENDED, False).json(path)
