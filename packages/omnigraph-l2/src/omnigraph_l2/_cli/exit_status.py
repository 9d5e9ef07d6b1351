"""The exit statuses of the program. ``omnigraph-spark`` uses the same ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnigraph_l2.errors import OmniGraphError

__all__ = [
    "BROKEN_PIPE",
    "CONFLICT",
    "DAMAGE",
    "DIFFERENT",
    "DONE",
    "FAILED",
    "INTERRUPTED",
    "WRONG",
    "Stopped",
    "UsageError",
    "status_of",
]

DONE, FAILED, WRONG, DIFFERENT, CONFLICT, DAMAGE = range(6)
INTERRUPTED = 130
BROKEN_PIPE = 141
"""What a shell reports for a program that SIGINT or SIGPIPE ended."""


class Stopped(Exception):
    """A command cannot continue, for a reason outside the repository."""

    kind = "failed"
    status = FAILED


class UsageError(Stopped):
    """The arguments are invalid. The message says what was expected."""

    kind = "usage"
    status = WRONG


def status_of(error: OmniGraphError | Stopped) -> int:
    """Return the exit status for an error."""
    from omnigraph_l2.errors import (  # noqa: PLC0415 - it imports Lance
        BadInput,
        Conflict,
        CorruptRepository,
    )

    if isinstance(error, Stopped):
        return error.status
    if isinstance(error, Conflict):
        return CONFLICT
    if isinstance(error, CorruptRepository):
        return DAMAGE
    return WRONG if isinstance(error, BadInput) else FAILED
