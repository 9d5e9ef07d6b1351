"""Work in threads of its own, which goes on when its caller does not wait.

Invariant: each work has a thread to itself, so that works that wait for each other all get on.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["in_background", "in_thread"]

T = TypeVar("T")


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
