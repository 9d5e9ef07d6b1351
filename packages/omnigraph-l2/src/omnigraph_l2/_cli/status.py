"""What the exit status of the program can be: the same words as those of ``omnigraph-spark``."""

from __future__ import annotations

from omnigraph_l2.errors import BadInput, Conflict, CorruptRepository, OmniGraphError

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
"""As a shell tells of a program that SIGINT or SIGPIPE has ended."""


class Stopped(Exception):
    """A command cannot go on, for a reason that is not one of the repository's."""

    kind = "failed"
    status = FAILED


class UsageError(Stopped):
    """What was typed cannot be done. The text says what to type instead."""

    kind = "usage"
    status = WRONG


def status_of(error: OmniGraphError | Stopped) -> int:
    """Give the exit status that tells of an error."""
    if isinstance(error, Stopped):
        return error.status
    if isinstance(error, Conflict):
        return CONFLICT
    if isinstance(error, CorruptRepository):
        return DAMAGE
    return WRONG if isinstance(error, BadInput) else FAILED
