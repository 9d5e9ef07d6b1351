"""Translate errors of Spark in a job.

Invariant: a typed error that comes out of Spark is raised as itself. Anything else becomes the
error of the step, with Spark's message and without its traces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from omnigraph_l2 import OmniGraphError
from omnigraph_spark._convert.error_transport import cause_of
from omnigraph_spark.errors import JobFailed

__all__ = ["SPARK_ERRORS", "job_step", "summarize_error", "translate_spark_errors"]

SPARK_ERRORS: Final = (PySparkException, Py4JError)
_LONGEST: Final = 400


@contextmanager
def translate_spark_errors(failed: Callable[[str], OmniGraphError]) -> Iterator[None]:
    """Raise a typed error instead of one of Spark; ``failed`` makes one from its message."""
    try:
        yield
    except SPARK_ERRORS as error:
        raise cause_of(error) or failed(summarize_error(error)) from error


def job_step(name: str, item: str) -> AbstractContextManager[None]:
    """Run a step of a job that writes files; raise ``JobFailed`` if Spark fails."""
    return translate_spark_errors(lambda detail: JobFailed(step=name, item=item, detail=detail))


def summarize_error(error: BaseException) -> str:
    """Return Spark's message and its root cause, without traces."""
    text = str(error)
    _, java, after = text.partition("\n: ")
    said = _line(after if java else text)
    _, caused, last = text.rpartition("\nCaused by: ")
    bottom = _line(last) if caused else ""
    message = f"{said}; {bottom}" if bottom and bottom not in said else said
    return message.rstrip(".") if len(message) <= _LONGEST else message[:_LONGEST] + "…"


def _line(text: str) -> str:
    message = text.strip()
    for end in ("\n\nJVM stacktrace", "\n\tat ", ";\n"):
        message = message.partition(end)[0]
    return " ".join(re.sub(r"^[a-z]+(\.\w+)+(\.[A-Z]\w*): ", "", message).split())
