"""Tickets in an object store, for writers that have met others: ``_turn/<ulid>.<what they want>``.

Always: tickets are taken only where there is contention; without it a look costs one request. Who
comes later waits while somebody before moves on. A ticket that does not move for a while, or whose
time is far from ours, is not waited for.
"""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

import attrs

from omnigraph_l1 import Storage, new_ulid

__all__ = ["Tickets", "drawn_at"]

_PATIENCE_SECONDS = 2.0
"""How long to wait for the same ticket."""
_LONGEST_SECONDS = 20.0
"""How long to wait for all that are before."""
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
        """Hold a ticket for some names while others are before, or a race was lost."""
        wanted = [_EVERYTHING] if len(names) > _MOST_NAMES else sorted(names)
        ticket: str | None = None
        try:
            if lost or self._before(None, wanted):
                ticket = self._draw(wanted)
                self._wait(ticket, wanted)
            yield
        finally:
            if ticket is not None:
                self._drop(ticket)

    def _draw(self, wanted: Collection[str]) -> str | None:
        ticket = ".".join([new_ulid(), *wanted])
        try:
            self._storage.object_store().put(ticket, b"")
        except Exception:  # noqa: BLE001 - a turn is a courtesy: without it the writer goes on
            return None
        return ticket

    def _drop(self, ticket: str) -> None:
        with suppress(Exception):
            self._storage.object_store().delete(ticket)

    def _wait(self, ticket: str | None, wanted: Collection[str]) -> None:
        ends = time.monotonic() + _LONGEST_SECONDS
        ignored: set[str] = set()
        first, since = "", time.monotonic()
        while time.monotonic() < ends:
            before = [each for each in self._before(ticket, wanted) if each not in ignored]
            if not before:
                return
            if before[0] != first:
                first, since = before[0], time.monotonic()
            elif time.monotonic() - since > _PATIENCE_SECONDS:
                ignored.add(first)
            time.sleep(random.uniform(*_POLL_SECONDS))  # noqa: S311 - spreads writers

    def _before(self, ticket: str | None, wanted: Collection[str]) -> list[str]:
        """Name the tickets that go first, oldest first; drop those that nobody holds any more."""
        try:
            listed = [
                str(entry["path"]) for page in self._storage.object_store().list() for entry in page
            ]
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
    """Tell when a ticket was drawn, by its holder's clock; None for what is no ticket."""
    ulid = ticket.partition(".")[0]
    if len(ulid) != _ULID_DIGITS or not set(ulid) <= _DIGITS.keys():
        return None
    milliseconds = 0
    for digit in ulid[:_TIME_DIGITS]:
        milliseconds = milliseconds * len(_DIGITS) + _DIGITS[digit]
    return milliseconds / 1000


def _age_seconds(ulid: str) -> float | None:
    """Tell how old a ticket is by our clock; None for what is no ticket."""
    drawn = drawn_at(ulid)
    return None if drawn is None else time.time() - drawn
