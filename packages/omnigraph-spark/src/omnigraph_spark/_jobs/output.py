"""Files that jobs write: the folder of each table, what files hold, and how they are written.

Always: the folder of a table lies in the folder of its job and nowhere else, whatever the type is
called, and no two tables have the same one. Values are told to the last digit, whatever the session
says. Spark looks, writes and empties: it knows places that Python does not.
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

from omnigraph_spark._jobs.failing import step
from omnigraph_spark.errors import InvalidOptions, OutputExists

__all__ = [
    "FORMATS",
    "check_output",
    "empty",
    "exists",
    "folder_of",
    "refuse_existing",
    "refuse_inside",
    "refuse_unwritable",
    "write",
]

FORMATS: Final = {"parquet": "parquet", "csv": "csv", "ndjson": "json"}
_MOMENTS: Final[Mapping[str, Any]] = {
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_OPTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    # Otherwise moments are INT96, which other programs read as nanoseconds: these end in 2262.
    "parquet": {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"},
    # As RFC 4180 has it: a quote in quotes is doubled.
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
    """Name the folder of a table: all names become one that any file system has."""
    kind, _, name = table_key.partition(":")
    return f"{out.rstrip('/')}/{kind}s/{_folder(name)}"


def _folder(name: str) -> str:
    told = quote(name, safe=" ")
    if told.startswith("."):
        # These are hidden; and some lead out of the folder.
        told = f"%2E{told[1:]}"
    if len(told) <= _LONGEST_NAME:
        return told
    # With the hash it is longer than any that is whole, so it is none of those.
    whole = re.sub(r"%.?$", "", told[:_LONGEST_NAME])
    return f"{whole}~{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def check_output(out: str, format: str, formats: Collection[str]) -> None:  # noqa: A002 - Spark's
    """Raise ``InvalidOptions`` where that is no place, or no format."""
    problems = []
    if not out.strip():
        problems.append(f"out is the folder to write to, found {out!r}")
    if format not in formats:
        problems.append(f"the format is one of {', '.join(formats)}, found {format!r}")
    if problems:
        raise InvalidOptions(problems=tuple(problems))


def refuse_inside(repository: str, name: str, place: str) -> None:
    """Raise ``InvalidOptions`` where a job would write among the files of a repository."""
    within, place_of_it = _plain(repository), _plain(place)
    if place_of_it == within or place_of_it.startswith(f"{within}/"):
        problem = (
            f"{name} is {place!r}, which is in the repository {repository}: choose a place of its "
            "own"
        )
        raise InvalidOptions(problems=(problem,))


def _plain(place: str) -> str:
    """Name a place in one way: Spark calls some stores otherwise, and local files have links."""
    scheme, found, rest = place.partition(":/")
    if not found or scheme == "file":
        return os.path.realpath(f"/{rest.lstrip('/')}" if found else place)
    return f"{_STORES.get(scheme, scheme)}:/{posixpath.normpath(rest).rstrip('/')}"


def refuse_unwritable(
    spark: SparkSession, schemas: Mapping[str, sql.StructType], kind: str
) -> None:
    """Raise ``InvalidOptions`` with all columns of tables that files of a format cannot hold."""
    problems = tuple(
        problem
        for key, schema in schemas.items()
        for problem in (*_alike(spark, schema, key), *_unwritable(spark, schema, key, kind))
    )
    if problems:
        raise InvalidOptions(problems=problems)


def _alike(spark: SparkSession, schema: sql.StructType, key: str) -> Iterator[str]:
    if _is_on(spark, _CASE):
        return
    for _, found in groupby(sorted(schema.names, key=str.lower), str.lower):
        names = sorted(found, key=schema.names.index)
        if len(names) > 1:
            listed = " and ".join(map(repr, names))
            yield f"{listed} of {key} differ by case only, and {_CASE} is false: set it to true"


def _unwritable(spark: SparkSession, schema: sql.StructType, key: str, kind: str) -> Iterator[str]:
    times = _is_on(spark, _TIMES)
    for field in schema:
        told = f"{field.name!r} of {key} is {field.dataType.simpleString()}"
        within = [*_within(field.dataType)]
        if kind == "csv" and isinstance(field.dataType, _NO_CSV):
            yield f"{told}, which CSV cannot hold: write parquet or ndjson"
        elif any(isinstance(each, sql.StructType) and not each.fields for each in within):
            yield f"{told}, and Spark writes no struct without fields: leave the table out"
        elif not times and any(isinstance(each, sql.TimeType) for each in within):
            yield f"{told}, and {_TIMES} is false: set it to true"


def _within(kind: sql.DataType) -> Iterator[sql.DataType]:
    """Give a type, and all that it is made of."""
    yield kind
    if isinstance(kind, sql.StructType):
        inner = [field.dataType for field in kind]
    elif isinstance(kind, sql.MapType):
        inner = [kind.keyType, kind.valueType]
    else:
        inner = [kind.elementType] if isinstance(kind, sql.ArrayType) else []
    for each in inner:
        yield from _within(each)


def _is_on(spark: SparkSession, setting: str) -> bool:
    return str(spark.conf.get(setting, "false")).lower() == "true"


def refuse_existing(spark: SparkSession, paths: Collection[str]) -> None:
    """Raise ``OutputExists`` with all of the places at which there is something."""
    found = tuple(path for path in paths if exists(spark, path))
    if found:
        raise OutputExists(paths=found)


def exists(spark: SparkSession, path: str) -> bool:
    """Look whether there is something."""
    with step("Looking at", path):
        try:
            # Given one place that is not there, Spark logs a trace first; given two, it does not.
            both = [_literal(path)] * 2
            spark.read.format("binaryFile").load(both).schema  # noqa: B018 - now it looks
        except AnalysisException as error:
            if error.getCondition() == "PATH_NOT_FOUND":
                return False
            raise
    return True


def _literal(path: str) -> str:
    """Escape what Spark takes for a pattern in a path that it reads."""
    return "".join(f"\\{each}" if each in "{}[]*?\\" else each for each in path)


def write(
    frame: DataFrame, path: str, kind: str, *, overwrite: bool, counts: Mapping[str, Column]
) -> dict[str, int]:
    """Write rows as files of a format; give what was counted of them on the way."""
    seen = Observation()
    counted = frame.observe(seen, *(each.alias(name) for name, each in counts.items()))
    writer = counted.write.mode("overwrite" if overwrite else "error").format(FORMATS[kind])
    writer.options(**_OPTIONS[kind]).option(_ENDED, True).save(path)
    found: dict[str, int] = seen.get
    return found


def empty(spark: SparkSession, path: str) -> None:
    """Take away all that is in a folder, also the mark that what was written there is whole."""
    # A write of no row into parts has no file; Spark has nothing that only takes away.
    nothing = spark.range(0).selectExpr("id", "id AS part").write.mode("overwrite")
    with step("Emptying", path):
        parts = nothing.partitionBy("part").option("partitionOverwriteMode", "static")
        parts.option(_ENDED, False).json(path)
