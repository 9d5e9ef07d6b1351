"""Run several small Spark jobs in parallel.

Invariant: results come as they are ready, each with its item. An error ends the iteration when the
running jobs have ended; of several errors, that of the first item is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Final, TypeVar

__all__ = ["run_parallel"]

_JOBS: Final = 4
_T = TypeVar("_T")
_R = TypeVar("_R")


def run_parallel(work: Callable[[_T], _R], items: Iterable[_T]) -> Iterator[tuple[_T, _R]]:
    """Call a function with each item; yield items with results, in any order."""
    with ThreadPoolExecutor(_JOBS) as workers:
        running = {workers.submit(work, item): item for item in items}
        try:
            for done in as_completed(running):
                if done.exception() is not None:
                    break
                yield running[done], done.result()
        finally:
            workers.shutdown(cancel_futures=True)
    for done in running:
        if not done.cancelled():
            done.result()
