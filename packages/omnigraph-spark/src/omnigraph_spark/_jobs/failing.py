"""What Spark raises in a job, as what it is.

Always: an error of ours that comes out of Spark is raised as itself; anything else is the error of
the step in which it came, with what Spark says and without its traces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from omnigraph_l2 import OmniGraphError
from omnigraph_spark._errors.carrying import cause_of
from omnigraph_spark.errors import JobFailed

__all__ = ["SPARK_ERRORS", "brief", "failing", "step"]

SPARK_ERRORS: Final = (PySparkException, Py4JError)
_LONGEST: Final = 400


@contextmanager
def failing(failed: Callable[[str], OmniGraphError]) -> Iterator[None]:
    """Raise an error of ours instead of one of Spark; make it of what Spark says, if need be."""
    try:
        yield
    except SPARK_ERRORS as error:
        raise cause_of(error) or failed(brief(error)) from error


def step(name: str, item: str) -> AbstractContextManager[None]:
    """Do a step of a job that writes files: what Spark cannot do is ``JobFailed``."""
    return failing(lambda detail: JobFailed(step=name, item=item, detail=detail))


def brief(error: BaseException) -> str:
    """Give what Spark says and what lies at the bottom of it, without its traces."""
    text = str(error)
    _, java, after = text.partition("\n: ")
    said = _line(after if java else text)
    _, caused, last = text.rpartition("\nCaused by: ")
    bottom = _line(last) if caused else ""
    told = f"{said}; {bottom}" if bottom and bottom not in said else said
    return told.rstrip(".") if len(told) <= _LONGEST else told[:_LONGEST] + "…"


def _line(text: str) -> str:
    told = text.strip()
    for end in ("\n\nJVM stacktrace", "\n\tat ", ";\n"):
        told = told.partition(end)[0]
    return " ".join(re.sub(r"^[a-z]+(\.\w+)+(\.[A-Z]\w*): ", "", told).split())
