"""A clock that nobody sets, and that goes on while the machine sleeps.

Always: two readings in one process tell how much time really went by, also when the process was
stopped or the lid was shut. ``time.monotonic`` stands still then on Linux and on macOS.
"""

from __future__ import annotations

import time

__all__ = ["awake_seconds"]

_CLOCK = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)


def awake_seconds() -> float:
    """Tell the seconds since some moment of the past."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)
