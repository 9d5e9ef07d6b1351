"""Files that jobs write: the folder of each table, and what is in the way there.

Always: the folder of a table lies in the folder of its job and nowhere else, whatever the type is
called, and no two tables have the same one. Spark looks and writes: it knows places that Python
does not.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from typing import Final
from urllib.parse import quote

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from omnigraph_spark.errors import OutputExists

__all__ = ["folder_of", "refuse_existing"]

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


def refuse_existing(spark: SparkSession, paths: Collection[str]) -> None:
    """Raise ``OutputExists`` with all of the places at which there is something."""
    found = tuple(path for path in paths if _exists(spark, path))
    if found:
        raise OutputExists(paths=found)


def _exists(spark: SparkSession, path: str) -> bool:
    try:
        spark.read.format("binaryFile").load(_literal(path)).schema  # noqa: B018 - now it looks
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return False
        raise
    return True


def _literal(path: str) -> str:
    """Escape what Spark takes for a pattern in a path that it reads."""
    return "".join(f"\\{each}" if each in "{}[]*?\\" else each for each in path)
