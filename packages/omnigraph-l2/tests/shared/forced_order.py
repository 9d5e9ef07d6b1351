"""What others do in the middle of a call: at a named step, so that the order is forced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from omnigraph_l1 import failpoints

__all__ = ["meanwhile"]


@contextmanager
def meanwhile(point: str, act: Callable[[], object]) -> Iterator[list[str]]:
    """Act when a step is first reached, which must be; give the list of steps that were passed."""
    passed: list[str] = []

    def handler(name: str) -> None:
        first = name == point and point not in passed
        passed.append(name)
        if first:
            with failpoints.handling(lambda _: None):
                act()

    with failpoints.handling(handler):
        yield passed
    assert point in passed
