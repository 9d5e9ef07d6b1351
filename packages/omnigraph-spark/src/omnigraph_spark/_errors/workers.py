"""Processes that Spark starts for Python and uses again, for planning and for tasks.

Always: only such a process is settled, never one that a user's program runs in.
"""

from __future__ import annotations

import gc
import sys
from functools import lru_cache

__all__ = ["settle_worker"]

_DAEMON = "pyspark.daemon"


@lru_cache(maxsize=1)
def settle_worker() -> None:
    """Let the collection of garbage pass over what was imported.

    Spark collects after each turn of a worker, before it takes the next one: through all modules
    of lance and pandas that costs 36 ms of a core, more than planning and reading a row together.
    What exists by now is still freed once nothing refers to it.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if getattr(main, "name", None) == _DAEMON:
        gc.freeze()
