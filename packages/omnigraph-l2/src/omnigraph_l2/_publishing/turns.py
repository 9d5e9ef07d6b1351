"""Turns for writers that want the same thing, so that nobody starves.

Always advisory: turns order writers, they protect nothing. A writer that waited long enough goes
on without one, and a dead holder blocks nobody for long: on local disk the kernel releases its
lock, on a store its ticket is stale after a while. What protects is the publish itself.
"""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import attrs

from omnigraph_l1 import JsonRefs, Ref, directory_lock, fnv1a64, new_ulid
from omnigraph_l1.errors import L1Error, StorageError
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import TURNS

__all__ = ["Turns", "lineage"]

_PATIENCE_SECONDS = 2.0
_STALE_SECONDS = 15.0
_POLL_SECONDS = (0.03, 0.08)
_LOST_BEFORE_TICKET = 2


@attrs.frozen
class Turns:
    """Who goes next, for each of several named things."""

    _root: Root

    @contextmanager
    def take(self, wanted: Collection[str], *, lost: int = 0) -> Iterator[None]:
        """Wait for a turn on all that is wanted, and hold it. ``lost`` counts the races lost."""
        place = self._root.storage.place
        if place.is_local:
            with ExitStack() as held:
                self._lock_files(held, place.local_path / TURNS, wanted)
                yield
        else:
            ticket = self._ticket(wanted) if lost >= _LOST_BEFORE_TICKET else None
            try:
                self._wait_for_older(wanted, ticket)
                yield
            finally:
                self._drop(ticket)

    def _lock_files(self, held: ExitStack, folder: Path, wanted: Collection[str]) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        try:
            folder.mkdir(exist_ok=True)
            # In one order for all, so that nobody waits in a circle until patience ends.
            for name in sorted({f".{fnv1a64(each):016x}.lock" for each in wanted}):
                patience = max(0.0, deadline - time.monotonic())
                held.enter_context(directory_lock(folder / name, patience=patience))
        except (StorageError, OSError):
            return

    def _ticket(self, wanted: Collection[str]) -> Ref | None:
        try:
            return self._tickets.create(new_ulid(), {"wants": sorted(wanted), "at": time.time()})
        except L1Error:
            return None

    def _drop(self, ticket: Ref | None) -> None:
        if ticket is not None:
            try:
                self._tickets.delete(ticket)
            except L1Error:
                return

    def _wait_for_older(self, wanted: Collection[str], ticket: Ref | None) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self._has_older(set(wanted), ticket) and time.monotonic() < deadline:
            time.sleep(random.uniform(*_POLL_SECONDS))  # noqa: S311 - spreads writers

    def _has_older(self, wanted: set[str], ticket: Ref | None) -> bool:
        try:
            tickets = self._tickets.list()
        except L1Error:
            return False
        now = time.time()
        for other in tickets:
            wants, at = other.value.get("wants"), other.value.get("at")
            if not isinstance(wants, list) or not isinstance(at, (int, float)):
                continue
            if now - at > _STALE_SECONDS:
                self._drop(other)
            elif wanted.intersection(wants) and (ticket is None or other.name < ticket.name):
                return True
        return False

    @property
    def _tickets(self) -> JsonRefs:
        return self._root.refs(TURNS, reuse_names=False)


def lineage(table_path: str, branch: str | None) -> str:
    """Name a lineage of a table, to take a turn on it."""
    return f"table {table_path} {branch or ''}"
