"""The program ``omnigraph-spark <job>``, for a shell, a scheduler, or spark-submit.

The report goes to standard output, everything else to standard error. Exit status: 0 success, 1
failure, 2 wrong usage, 3 differences (with ``--exit-code``), 4 conflict or lost race, 5 damage
found.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any

import attrs

from omnigraph_l2.errors import BadInput, Conflict, CorruptRepository, OmniGraphError
from omnigraph_spark._convert.error_transport import cause_of
from omnigraph_spark._program.job_arguments import CONFLICT, DAMAGE, FAILED, WRONG, make_parser
from omnigraph_spark.errors import InvalidMapping, InvalidOptions, PySparkMissing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["main", "run_job"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one job in a session of its own; return the exit status."""
    return run_job(arguments, _open_session)


def run_job(
    arguments: Sequence[str] | None,
    begin: Callable[[argparse.Namespace], AbstractContextManager[SparkSession]],
) -> int:
    """Run one job; return the exit status."""
    args = make_parser().parse_args(arguments)
    try:
        import omnigraph_spark._pyspark_check  # noqa: F401  # before anything that imports pyspark
    except PySparkMissing as error:
        return _fail(error)
    from omnigraph_spark._jobs.step_errors import SPARK_ERRORS, summarize_error

    try:
        with begin(args) as spark:
            return _run_with(spark, args)
    except (OmniGraphError, *SPARK_ERRORS) as error:
        cause = cause_of(error)
        if cause is None:
            _report(f"Spark: {summarize_error(error)}")
            return FAILED
        return _fail(cause)


@contextmanager
def _open_session(args: argparse.Namespace) -> Iterator[SparkSession]:
    from omnigraph_spark._session.spark_session import session

    spark = session(f"omnigraph {args.job}", args.master, dict(args.conf))
    try:
        yield spark
    finally:
        spark.stop()


def _run_with(spark: SparkSession, args: argparse.Namespace) -> int:
    common = {
        "storage_options": dict(args.storage) or None,
        "progress": None if args.quiet else _report,
    }
    report = args.run(spark, args, common)
    text = json.dumps(_to_json(report), ensure_ascii=False) if args.json else str(report)
    sys.stdout.write(f"{text}\n")
    return int(args.judge(report, args))


def _report(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _fail(error: OmniGraphError) -> int:
    _report(f"{error.kind}: {error}")
    if isinstance(error, Conflict):
        return CONFLICT
    if isinstance(error, CorruptRepository):
        return DAMAGE
    return WRONG if isinstance(error, BadInput | InvalidMapping | InvalidOptions) else FAILED


def _to_json(value: Any) -> Any:
    """Convert a report to values of JSON."""
    if attrs.has(type(value)):
        names = (field.name for field in attrs.fields(type(value)) if field.name[0] != "_")
        return {name: _to_json(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _to_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(each) for each in value]
    if isinstance(value, Enum):
        return value.value
    return value.isoformat() if isinstance(value, datetime) else value
