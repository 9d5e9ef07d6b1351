"""Several small Spark jobs at once, so that those of many tables do not wait for each other.

Always: results come as they are ready, each with what it is of; an error ends it all, when what
runs has ended. Of several, that of the first item is raised, whichever came first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Final, TypeVar

__all__ = ["at_once"]

_JOBS: Final = 4
_T = TypeVar("_T")
_R = TypeVar("_R")


def at_once(work: Callable[[_T], _R], items: Iterable[_T]) -> Iterator[tuple[_T, _R]]:
    """Do something with each item; give the items with what came of it, in no order."""
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
