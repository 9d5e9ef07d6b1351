"""How long operations wait for others: every bound of this package in one place.

How long one waits for a silent store is in ``omnigraph_l1.deadlines``, as is ``wait_seconds``.

Invariant: a bound limits waiting, not work that makes progress. ``timeout`` of a public method is
the longest that any wait in it takes; for what publishes, also how long it is tried against others.

A table of docs/configuration.md lists these values, and a check compares them.
"""

from __future__ import annotations

from typing import Final

from omnigraph_l1.deadlines import wait_seconds

__all__ = [
    "CLEANUP_WAIT_SECONDS",
    "CLOSE_SECONDS",
    "COMMIT_SECONDS",
    "LOCK_TURN_SECONDS",
    "LOG_APPEND_SECONDS",
    "MIGRATION_SECONDS",
    "OPERATION_SECONDS",
    "SCHEMA_WRITE_SECONDS",
    "SHORT_READ_SECONDS",
    "TICKET_SECONDS",
    "TURN_SECONDS",
    "wait_seconds",
]

OPERATION_SECONDS: Final = 60.0
"""``timeout`` of every method that has one, if it is not given; but see ``CLOSE_SECONDS``."""
CLOSE_SECONDS: Final = 10.0
"""``timeout`` of ``Repository.close``. What is not done by then is left to the next writer."""

LOCK_TURN_SECONDS: Final = 3.0
"""How long to wait for a turn on local disk. Then the writer goes on without one."""
TICKET_SECONDS: Final = 2.0
"""How long to wait for the same ticket in a store."""
TURN_SECONDS: Final = 20.0
"""How long to wait for all tickets that are before."""
COMMIT_SECONDS: Final = 30.0
"""How long a commit on a pinned table version is tried beside others on the same table."""
SCHEMA_WRITE_SECONDS: Final = 30.0
"""The same for an empty version of a table with other columns."""
LOG_APPEND_SECONDS: Final = 30.0
"""How long an append to the log or to the registry of runs is tried beside others."""
MIGRATION_SECONDS: Final = 60.0
"""How long a step of a migration is tried beside others."""
CLEANUP_WAIT_SECONDS: Final = 60.0
"""How long what keeps something from an old version waits until a running cleanup has ended."""
SHORT_READ_SECONDS: Final = 600.0
"""How long a head can be read without a lease: a cleanup keeps what was visible since then."""
