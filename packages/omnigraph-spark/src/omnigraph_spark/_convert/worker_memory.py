"""Garbage collection in the Python workers of Spark.

Invariant: only workers that Spark started are changed, never the user's own process.
"""

from __future__ import annotations

import gc
import sys
from functools import lru_cache

__all__ = ["freeze_imports"]

_DAEMON = "pyspark.daemon"


@lru_cache(maxsize=1)
def freeze_imports() -> None:
    """Exclude what is imported so far from garbage collection.

    Spark collects after each task of a worker. With the modules of lance and pandas that takes 36
    ms of a core, more than planning and reading one row. Objects that exist now are still freed
    when nothing refers to them.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if getattr(main, "name", None) == _DAEMON:
        gc.freeze()
