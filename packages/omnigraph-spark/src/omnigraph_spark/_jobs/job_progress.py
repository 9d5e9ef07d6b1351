"""Progress of a job, as lines of text."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

__all__ = ["JobProgress", "Listener"]

Listener: TypeAlias = Callable[[str], None]


class JobProgress:
    """Sends lines with the seconds since the job began to a listener, if there is one."""

    def __init__(self, listener: Listener | None) -> None:
        self._listener = listener
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """The seconds since the job began."""
        return time.monotonic() - self._began

    def say(self, line: str) -> None:
        """Send a line."""
        if self._listener is not None:
            self._listener(f"{self.seconds:7.1f} s  {line}")
