"""How a fault of the wrappers makes its caller wait: a delay, a hold, a limit of the bandwidth."""

from __future__ import annotations

import threading
import time
from typing import Protocol

from omnigraph_testing._faults.held_requests import Held
from omnigraph_testing._faults.store_operation import Operation

__all__ = ["Pause", "UntilReleased", "Wait"]


class Wait(Protocol):
    """Something that is over at some time. ``cuts`` says that the caller gets an error at once."""

    cuts: bool

    def is_over(self, seconds: float | None) -> bool:
        """Wait so long at most, or (None) until it is over; return whether it is."""


class Pause:
    """Some seconds, from now on."""

    cuts = False

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def is_over(self, seconds: float | None) -> bool:
        """Sleep."""
        left = self._until - time.monotonic()
        time.sleep(max(0.0, left if seconds is None else min(left, seconds)))
        return seconds is None or seconds >= left


class UntilReleased:
    """Until a test lets go what it held."""

    def __init__(self, held: Held, operation: Operation, *, cuts: bool) -> None:
        self.cuts = cuts
        self._released = threading.Event()
        self.is_kept = held.catch(operation, self._released.set)

    def is_over(self, seconds: float | None) -> bool:
        """Wait for the release."""
        return self._released.wait(seconds)
