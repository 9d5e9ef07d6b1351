"""What a backend of refs does: bytes by file name, changed only where they are what they were.

Always, of every backend: ``write`` is one attempt. It returns the token of what it wrote; it
raises ``Mismatch`` where the condition did not hold, ``Unsettled`` where the reply is lost and it
may have happened, and an error of ours where it certainly did not. No attempt is repeated inside:
whoever calls knows how to recognise its own write, and a backend does not.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

import attrs

from omnigraph_l1.errors import StorageError

__all__ = ["Backend", "Mismatch", "Stored", "Unsettled"]


@attrs.frozen
class Stored:
    """Bytes as they were read, and the token with which they can be compared."""

    data: bytes
    token: str


class Mismatch(Exception):  # never leaves the package
    """The document is not what it was expected to be. This attempt changed nothing."""


class Unsettled(Exception):  # never leaves the package
    """It may have happened. ``cause`` is the error of ours that says how the reply was lost.

    ``look`` is whether looking for one's own write can settle it: not where the write is visible,
    and only its durability is in doubt.
    """

    def __init__(self, cause: StorageError, *, look: bool = True) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.look = look


class Backend(Protocol):
    """A directory of small files, or what does the work of one."""

    keeps_tombstones: bool
    """Whether a deleted document is replaced by a tombstone, because ``remove`` is not sound."""

    attempts: int
    """How often a write is tried where its reply is lost."""
    seconds: float
    """How long it is tried."""

    def read(self, file_name: str) -> Stored | None:
        """Give what stands under the name now, whole, or None."""

    def write(self, file_name: str, data: bytes, expected: str | None) -> str:
        """Write where the token is the expected one, or (None) where nothing stands."""

    def remove(self, file_name: str, expected: str) -> None:
        """Remove where the token is the expected one; raises as ``write`` does."""

    def marks(self) -> dict[str, str | None]:
        """Name the files, each with a mark; those that come or go meanwhile may be left out.

        No two documents of a name ever have the same mark: as long as it stays, nothing was
        written. Where that cannot be told, the mark is None.
        """

    def ages(self) -> dict[str, datetime]:
        """Tell when each file was last written, by the clock of what keeps them."""

    def probe(self) -> None:
        """Raise ``UnsafeStore`` where conditions are not honoured. Leaves nothing behind."""
