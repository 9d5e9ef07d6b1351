"""What a request waits for on its way, and work that goes on when its caller does not wait."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from omnigraph_testing._faults._hold import Held
from omnigraph_testing._faults._operation import Operation

__all__ = ["Pause", "UntilReleased", "Wait", "in_background", "in_thread"]

T = TypeVar("T")


class Wait(Protocol):
    """Something that is over at some time. ``cuts`` says that the caller is told at once."""

    cuts: bool

    def is_over(self, seconds: float | None) -> bool:
        """Wait so long at most, or (None) until it is over; tell whether it is."""


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
        held.catch(operation, self._released.set)

    def is_over(self, seconds: float | None) -> bool:
        """Wait for the release."""
        return self._released.wait(seconds)


def in_background(work: Callable[[], object]) -> None:
    """Do it in a thread of its own, which does not keep the process from ending."""
    threading.Thread(target=work, name="omnigraph-testing", daemon=True).start()


async def in_thread(work: Callable[[], T]) -> T:
    """Do it in a thread of its own, so that what waits there holds up nothing else.

    If the caller is cancelled, the work goes on: a request that was sent cannot be called back.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: T | None, error: BaseException | None) -> None:
        if result.done():
            return
        if error is not None:
            result.set_exception(error)
        else:
            result.set_result(value)  # type: ignore[arg-type]  # None is a value of some work

    def run() -> None:
        value, failure = None, None
        try:
            value = context.run(work)
        except BaseException as error:  # noqa: BLE001 - it belongs to the one who awaits
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody awaits
            loop.call_soon_threadsafe(settle, value, failure)

    in_background(run)
    return await result
