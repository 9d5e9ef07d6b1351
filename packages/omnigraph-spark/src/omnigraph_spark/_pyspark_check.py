"""Raise ``PySparkMissing`` on import unless pyspark is installed in a supported version."""

from __future__ import annotations

import re
from importlib import import_module

from omnigraph_spark.errors import PySparkMissing

__all__ = ["check_pyspark"]

_MINIMUM = (4, 3)
_BELOW = 5


def check_pyspark() -> None:
    """Raise ``PySparkMissing`` unless pyspark has a supported version."""
    try:
        found: str = import_module("pyspark").__version__
    except ImportError as error:
        raise PySparkMissing(found="none") from error
    version = tuple(map(int, re.findall(r"\d+", found)[:2]))
    if not _MINIMUM <= version < (_BELOW,):
        raise PySparkMissing(found=found)


check_pyspark()
