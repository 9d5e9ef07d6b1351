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
        pyspark = import_module("pyspark")
    except ImportError as error:
        raise PySparkMissing(found="none") from error
    # Any folder of this name is a package for Python, and has no version.
    found = getattr(pyspark, "__version__", None)
    if found is None:
        raise PySparkMissing(found=f"one without a version: {pyspark!r}")
    version = tuple(map(int, re.findall(r"\d+", str(found))[:2]))
    if not _MINIMUM <= version < (_BELOW,):
        raise PySparkMissing(found=str(found))


check_pyspark()
