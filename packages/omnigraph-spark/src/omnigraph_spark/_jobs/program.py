"""The program ``omnigraph-spark <job>``: the jobs for a shell, a scheduler, or spark-submit.

Always: the report goes to standard output and all else to standard error. The exit status says what
became of it: 0 done, 1 failed, 2 wrong usage, 3 differences (asked for with ``--exit-code``), 4 a
conflict or a lost race, 5 damage found.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from enum import Enum
from typing import Any

import attrs
from pyspark.sql import SparkSession

from omnigraph_l2.errors import BadInput, Conflict, CorruptRepository, OmniGraphError
from omnigraph_spark._errors.carrying import cause_of
from omnigraph_spark._jobs.arguments import CONFLICT, DAMAGE, FAILED, WRONG, parser
from omnigraph_spark._jobs.failing import SPARK_ERRORS, brief
from omnigraph_spark._session import session
from omnigraph_spark.errors import InvalidMapping, InvalidOptions

__all__ = ["main", "ran"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one job with a session of its own; give the exit status."""
    return ran(arguments, _begun)


def ran(
    arguments: Sequence[str] | None,
    begin: Callable[[argparse.Namespace], AbstractContextManager[SparkSession]],
) -> int:
    """Run one job; give the exit status."""
    given = parser().parse_args(arguments)
    try:
        with begin(given) as spark:
            return _run(spark, given)
    except (OmniGraphError, *SPARK_ERRORS) as error:
        cause = cause_of(error)
        if cause is None:
            _tell(f"Spark: {brief(error)}")
            return FAILED
        _tell(f"{cause.kind}: {cause}")
        return _status(cause)


@contextmanager
def _begun(given: argparse.Namespace) -> Iterator[SparkSession]:
    spark = session(f"omnigraph {given.job}", given.master, dict(given.conf))
    try:
        yield spark
    finally:
        spark.stop()


def _run(spark: SparkSession, given: argparse.Namespace) -> int:
    common = {
        "storage_options": dict(given.storage) or None,
        "progress": None if given.quiet else _tell,
    }
    report = given.run(spark, given, common)
    told = json.dumps(_plain(report), ensure_ascii=False) if given.json else str(report)
    sys.stdout.write(f"{told}\n")
    return int(given.judge(report, given))


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _status(error: OmniGraphError) -> int:
    if isinstance(error, Conflict):
        return CONFLICT
    if isinstance(error, CorruptRepository):
        return DAMAGE
    return WRONG if isinstance(error, BadInput | InvalidMapping | InvalidOptions) else FAILED


def _plain(value: Any) -> Any:
    """Give a report as what JSON has."""
    if attrs.has(type(value)):
        names = (field.name for field in attrs.fields(type(value)) if field.name[0] != "_")
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Enum):
        return value.value
    return value.isoformat() if isinstance(value, datetime) else value
