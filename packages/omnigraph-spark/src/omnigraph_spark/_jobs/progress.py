"""Telling a person how far a job has come.

Always: nothing but text goes out, a line at a time, and a job without a listener says nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Progress", "Tell"]

Tell: TypeAlias = Callable[[str], None]


class Progress:
    """Lines with the seconds since the job began."""

    def __init__(self, tell: Tell | None) -> None:
        self._tell = tell
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long it has been."""
        return time.monotonic() - self._began

    def say(self, line: str) -> None:
        """Tell what was done, or begins."""
        if self._tell is not None:
            self._tell(f"{self.seconds:7.1f} s  {line}")
