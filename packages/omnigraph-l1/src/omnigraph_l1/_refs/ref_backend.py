"""What a backend of refs does: bytes by file name, changed only where they are what they were.

Invariant of every backend: ``write`` is one attempt. It returns the token of what it wrote. It
raises ``ConditionFailed`` if the condition did not hold, ``ReplyLost`` if the reply is lost and the
write may have happened, ``LockTimeout`` if others held the lock for too long, and an error of ours
if it certainly did not happen. A backend repeats no attempt, because only the caller can recognise
its own write.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

import attrs

from omnigraph_l1.errors import StorageError

__all__ = ["Backend", "ConditionFailed", "LockTimeout", "ReplyLost", "Stored"]


@attrs.frozen
class Stored:
    """Bytes as they were read, and the token with which they can be compared."""

    data: bytes
    token: str


class ConditionFailed(Exception):  # never leaves the package
    """The document is not what it was expected to be. This attempt changed nothing."""


class ReplyLost(Exception):  # never leaves the package
    """It may have happened. ``cause`` is the error of ours that says how the reply was lost.

    ``look`` is whether looking for one's own write can settle it: not where the write is visible,
    and only its durability is in doubt.
    """

    def __init__(self, cause: StorageError, *, look: bool = True) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.look = look


class LockTimeout(Exception):  # never leaves the package
    """Nothing was tried, and need not be tried again. ``cause`` is the error of ours."""

    def __init__(self, cause: StorageError) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Backend(Protocol):
    """A directory of small files, or what does the work of one."""

    keeps_tombstones: bool
    """Whether a deleted document is replaced by a tombstone, because ``remove`` is not sound."""

    attempts: int
    """How often a write is tried where its reply is lost."""
    seconds: float
    """How long it is tried."""

    def read(self, file_name: str) -> Stored | None:
        """Return what stands under the name now, whole, or None."""

    def write(self, file_name: str, data: bytes, expected: str | None) -> str:
        """Write where the token is the expected one, or (None) where nothing stands."""

    def remove(self, file_name: str, expected: str) -> None:
        """Remove where the token is the expected one; raises as ``write`` does."""

    def marks(self) -> dict[str, str | None]:
        """Return the names of the files, each with a mark; some that come or go may be left out.

        No two documents of a name ever have the same mark: as long as it stays, nothing was
        written. If that is not known, the mark is None.
        """

    def ages(self) -> dict[str, datetime]:
        """Return when each file was last written, by the clock of what keeps them."""

    def probe(self) -> None:
        """Raise ``UnsafeStore`` where conditions are not honoured. Leaves nothing behind."""
