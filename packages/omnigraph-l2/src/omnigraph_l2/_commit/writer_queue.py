"""Queue writers that want the same thing, so that none starves.

On a local disk the queue is a kernel lock for each name. In a store it is a ticket,
``_turn/<ulid>.<what is wanted>``, which is drawn only under contention; without it the queue costs
one request. A later writer waits while an earlier one makes progress. A ticket that does not move
for a while, or whose time is far from the local clock, is ignored.

Invariant: the queue is advisory. It orders writers and protects nothing; the publish itself does. A
dead holder blocks nothing for long: the kernel releases its lock, and its ticket stops moving.
"""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import lru_cache
from pathlib import Path

import attrs

from omnigraph_l1 import (
    Storage,
    directory_lock,
    fnv1a64,
    list_objects,
    new_ulid,
    remove_object,
    run_watched,
)
from omnigraph_l1.errors import StorageError
from omnigraph_l2._model.deadlines import (
    LOCK_TURN_SECONDS,
    TICKET_SECONDS,
    TURN_SECONDS,
    wait_seconds,
)
from omnigraph_l2._model.repository_layout import TURNS
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import CorruptRepository

__all__ = ["Tickets", "WriterQueue", "drawn_at", "lineage"]

_STALE_SECONDS = 30.0
_POLL_SECONDS = (0.02, 0.05)
_MOST_NAMES = 16
_EVERYTHING = "all"


@attrs.frozen
class Tickets:
    """The tickets of a repository in a store."""

    _storage: Storage

    @contextmanager
    def turn(self, names: Collection[str], *, lost: int) -> Iterator[None]:
        """Hold a ticket for some names if others are waiting, or if a race was lost."""
        wanted = [_EVERYTHING] if len(names) > _MOST_NAMES else sorted(names)
        ticket: str | None = None
        try:
            if lost or self._before(None, wanted):
                ticket = self._draw(wanted)
                if ticket is not None:
                    self._wait(ticket, wanted)
            yield
        finally:
            if ticket is not None:
                self._drop(ticket)

    def _draw(self, wanted: Collection[str]) -> str | None:
        ticket = ".".join([new_ulid(), *wanted])
        try:
            run_watched(self._storage, lambda: self._storage.object_store().put(ticket, b""))
        except Exception:  # noqa: BLE001 - a turn is a courtesy: without it the writer goes on
            return None
        return ticket

    def _drop(self, ticket: str) -> None:
        with suppress(Exception):
            remove_object(self._storage, ticket)

    def _wait(self, ticket: str, wanted: Collection[str]) -> None:
        ends = time.monotonic() + wait_seconds(TURN_SECONDS)
        ignored: set[str] = set()
        first, since = "", time.monotonic()
        while time.monotonic() < ends:
            before = [each for each in self._before(ticket, wanted) if each not in ignored]
            if not before:
                return
            if before[0] != first:
                first, since = before[0], time.monotonic()
            elif time.monotonic() - since > TICKET_SECONDS:
                ignored.add(first)
            time.sleep(random.uniform(*_POLL_SECONDS))  # noqa: S311 - spreads writers

    def _before(self, ticket: str | None, wanted: Collection[str]) -> list[str]:
        """Return the tickets that go first, oldest first; drop those without a holder."""
        try:
            listed = [each.name for each in list_objects(self._storage)]
        except Exception:  # noqa: BLE001 - see above
            return []
        before = []
        for each in sorted(listed):
            drawn, *names = each.split(".")
            age = _age_seconds(drawn)
            if age is None or ticket == each:
                continue
            if abs(age) > _STALE_SECONDS:
                self._drop(each)
            elif (ticket is None or each < ticket) and (
                _EVERYTHING in {*names, *wanted} or not set(names).isdisjoint(wanted)
            ):
                before.append(each)
        return before


_DIGITS = {digit: value for value, digit in enumerate("0123456789ABCDEFGHJKMNPQRSTVWXYZ")}
_TIME_DIGITS, _ULID_DIGITS = 10, 26


def drawn_at(ticket: str) -> float | None:
    """Return when a ticket was drawn, by its holder's clock; None if it is not a ticket."""
    ulid = ticket.partition(".")[0]
    if len(ulid) != _ULID_DIGITS or not set(ulid) <= _DIGITS.keys():
        return None
    milliseconds = 0
    for digit in ulid[:_TIME_DIGITS]:
        milliseconds = milliseconds * len(_DIGITS) + _DIGITS[digit]
    return milliseconds / 1000


def _age_seconds(ulid: str) -> float | None:
    """Return the age of a ticket by the local clock; None if it is not a ticket."""
    drawn = drawn_at(ulid)
    return None if drawn is None else time.time() - drawn


def lineage(table_path: str, branch: str | None) -> str:
    """Return the name of a table's lineage in the queue."""
    return f"table {table_path} {branch or ''}"


@lru_cache(maxsize=4096)
def _file_name(wanted: str) -> str:
    return f"{fnv1a64(wanted):016x}"


@attrs.frozen
class WriterQueue:
    """Decides who goes next, for each of several named things."""

    _root: RepositoryRoot

    def take(self, wanted: Collection[str], *, lost: int = 0) -> AbstractContextManager[None]:
        """Wait for a turn on all names, and hold it. ``lost`` is the number of lost races."""
        if not wanted:
            return nullcontext()
        location = self._root.storage.location
        names = sorted(set(map(_file_name, wanted)))
        if location.is_local:
            return _hold_locks(location.local_path / TURNS, names)
        return Tickets(self._root.child(TURNS)).turn(names, lost=lost)

    def publishing(self, branch: str | None, *, lost: int) -> AbstractContextManager[None]:
        """Wait for a turn to publish on a branch.

        In a store the first attempt checks no ticket: a check costs a request, and most writers are
        alone.
        """
        if not lost and not self._root.storage.location.is_local:
            return nullcontext()
        return self.take([f"publish {branch or ''}"], lost=lost)


@contextmanager
def _hold_locks(folder: Path, names: Collection[str]) -> Iterator[None]:
    """Hold a kernel lock for each name, in one order for all processes, which avoids deadlocks."""
    if folder.is_symlink():
        raise CorruptRepository(
            location=str(folder.parent), item=folder.name, detail="it is a symbolic link"
        )
    with ExitStack() as held:
        # After too long a wait, or where locks do not work, go on without a turn.
        with suppress(StorageError, OSError):
            folder.mkdir(exist_ok=True)
            patience = min(LOCK_TURN_SECONDS, wait_seconds(LOCK_TURN_SECONDS))
            for name in names:
                path = folder / f".{name}.lock"
                held.enter_context(directory_lock(path, patience=patience))
        yield
