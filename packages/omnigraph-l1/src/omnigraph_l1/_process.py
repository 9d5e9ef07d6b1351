"""A guard that turns use after fork into an error.

Lance and obstore keep threads that a forked child does not have: obstore then hangs for ever.
"""

from __future__ import annotations

import os

import attrs

from omnigraph_l1.errors import UsedAfterFork

__all__ = ["ProcessGuard"]


@attrs.frozen
class ProcessGuard:
    """Remembers the process in which ``what`` was made."""

    what: str
    made_in: int = attrs.field(factory=os.getpid)

    def check(self) -> None:
        """Raise ``UsedAfterFork`` in any other process."""
        here = os.getpid()
        if here != self.made_in:
            raise UsedAfterFork(what=self.what, made_in=self.made_in, used_in=here)
