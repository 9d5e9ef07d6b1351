"""Requests that wait until a test lets them go, so that it can force an order.

Works between any threads; what "waiting" means to the one who carries the request is its own
business: it gives a function that wakes it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import final

from omnigraph_testing._faults.store_operation import Operation
from omnigraph_testing.errors import NothingHeld

__all__ = ["Held"]


@final
class Held:
    """What a hold has caught. Leaving its ``with`` block releases it."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._operations: list[Operation] = []
        self._wakers: list[Callable[[], None]] = []
        self._released = False

    @property
    def operations(self) -> tuple[Operation, ...]:
        """All requests that were caught, released ones included."""
        with self._condition:
            return tuple(self._operations)

    @property
    def is_released(self) -> bool:
        """Whether requests pass."""
        with self._condition:
            return self._released

    def wait(self, timeout: float = 30.0, *, count: int = 1) -> tuple[Operation, ...]:
        """Return once ``count`` requests were caught; raise ``NothingHeld`` after ``timeout``."""
        with self._condition:
            if not self._condition.wait_for(lambda: len(self._operations) >= count, timeout):
                raise NothingHeld(
                    expected=count, found=len(self._operations), timeout_seconds=timeout
                )
            return tuple(self._operations)

    def release(self) -> None:
        """Let go what is held and what would be."""
        with self._condition:
            self._released = True
            wakers, self._wakers = self._wakers, []
        for wake in wakers:
            wake()

    def catch(self, operation: Operation, wake: Callable[[], None]) -> bool:
        """Record a request, and return whether it is held.

        ``wake`` is called on release, at once if that has been.
        """
        with self._condition:
            self._operations.append(operation)
            self._condition.notify_all()
            if not self._released:
                self._wakers.append(wake)
                return True
        wake()
        return False

    def __enter__(self) -> Held:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()
