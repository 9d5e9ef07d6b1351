"""An event loop in a thread of its own, for as long as a block lasts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar, final

__all__ = ["LoopThread"]

Result = TypeVar("Result")

PATIENCE_SECONDS = 30.0


@final
class LoopThread:
    """Runs coroutines that other threads hand in."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="omnigraph-gateway", daemon=True)

    def call(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run it there, and return its result here."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE_SECONDS)

    def __enter__(self) -> LoopThread:
        self._thread.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_SECONDS)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            # After one more turn, the owners of closed transports know of it.
            self._loop.run_until_complete(asyncio.sleep(0))
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()
