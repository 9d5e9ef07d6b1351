"""The lease of a repository handle: ``_refs/leases/<ulid>.json`` says what it may still need.

Always: what the document says covers everything that the handle reads or stages later, so that
nothing is written for a transaction or a snapshot: heads only move forward. It is renewed by a
thread of its own, and removed when the handle is closed. Whoever was not renewed for too long looks
whether the lease is still there before it publishes. A handle that cannot write goes without.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from omnigraph_l1 import JsonRefs, Ref, new_ulid
from omnigraph_l1.errors import L1Error, RefChanged, RefNotFound
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._events import emit
from omnigraph_l2._leases.awake import awake_seconds
from omnigraph_l2._leases.hold import Hold
from omnigraph_l2._leases.records import LeaseRecord, written
from omnigraph_l2._manifest.catalog import VersionsRead
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import LEASE_REFS
from omnigraph_l2.errors import LeaseLost

__all__ = ["LEASE_SECONDS", "Leases", "lease_refs"]

LEASE_SECONDS: Final = 300.0
"""How long a lease counts that is not renewed. It is renewed after a third of that."""
_UNLEASED_SECONDS: Final = 1_800.0
"""How long somebody without a lease may work: half the time for which nobody touches the new."""

_TAKEN = declare("l2.lease.taken", "the handle has a lease")
_RENEWED = declare("l2.lease.renewed", "the lease of the handle says what is needed now")


def lease_refs(root: Root) -> JsonRefs:
    """Give the leases of a repository. After a power cut their holders are dead: no flushing."""
    return JsonRefs.open(root.storage, LEASE_REFS, durability="none", reuse_names=False)


class Leases:
    """The lease of one repository handle. Threads may share it."""

    def __init__(
        self,
        root: Root,
        *,
        clock: Callable[[], datetime],
        known: Callable[[], Mapping[str, VersionsRead]],
        seconds: float = LEASE_SECONDS,
    ) -> None:
        """``known`` tells what was read of each branch of the catalog, by its native name."""
        self._root = root
        self._clock = clock
        self._known = known
        self._seconds = seconds
        self._holds: weakref.WeakSet[Hold] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._writing = threading.RLock()
        self._ref: Ref | None = None
        self._pins: Mapping[str, int] = {}
        self._renewed = 0.0
        self._not_before = 0.0
        self._generation = 0
        self._cleaning = 0
        self._for_readers = True
        self._closed = False
        self._wake = threading.Event()

    @property
    def name(self) -> str | None:
        """The name of the lease; None where there is none."""
        ref = self._ref
        return None if ref is None else ref.name

    def for_writers_only(self) -> None:
        """Take no lease for reading: in a place where nothing of ours is, reading leaves none."""
        self._for_readers = False

    def hold(self, *, writes: bool = False) -> Hold:
        """Hold on to everything that is visible from now on, and that is written from now on."""
        if writes or self._for_readers:
            self._take()
        with self._lock:
            hold = Hold(
                self,
                floors={name: read.last for name, read in self._known().items()},
                since=self._clock(),
                began=awake_seconds(),
                generation=None if self._ref is None else self._generation,
            )
            self._holds.add(hold)
        return hold

    def check(self, hold: Hold) -> None:
        """Raise ``LeaseLost`` where what a hold needs may have been cleaned up meanwhile."""
        now = awake_seconds()
        if hold.generation is None:
            if now - hold.began > _UNLEASED_SECONDS:
                raise LeaseLost(place=self._root.place, seconds=now - hold.began)
            return
        since = self._renewed
        if hold.generation == self._generation and not self._closed and now - since > self._seconds:
            self.renew()
        if hold.generation != self._generation:
            raise LeaseLost(place=self._root.place, seconds=now - since)

    def reach_back(self, native: str, version: int) -> None:
        """See to it soon that the lease covers a version older than what it says."""
        if version < self._pins.get(native, version):
            self._wake.set()

    def renew(self) -> None:
        """Write down what is needed now, if the lease is still there."""
        with self._writing:
            if self._ref is None or self._closed:
                return
            started = awake_seconds()
            record = self._record()
            made = self._replaced(self._ref, written(record))
            with self._lock:
                self._ref = made
                if made is None:
                    self._generation += 1
            if made is None:
                emit("lease_lost", place=self._root.place)
                return
            self._pins, self._renewed = record.pins, started
            failpoint(_RENEWED)

    def announce(self, *, cleaning: bool) -> None:
        """Tell others, by the lease, that this handle cleans up, or does no more.

        Who makes something last that stands on an old moment waits until nobody cleans up.
        """
        with self._writing:
            self._cleaning += 1 if cleaning else -1
            if self._ref is None and cleaning:
                self._create()
            else:
                self.renew()
                if self._ref is None and cleaning:
                    self._create()

    def close(self) -> None:
        """Give the lease back. What is still held on to lives by the retention then."""
        self._closed = True
        self._wake.set()
        with self._writing:
            ref, self._ref = self._ref, None
            if ref is not None:
                try:
                    lease_refs(self._root).delete(ref)
                except L1Error as error:
                    emit("lease_left_behind", place=self._root.place, error=str(error))

    def _take(self) -> None:
        if self._ref is not None and awake_seconds() - self._renewed > self._seconds:
            with suppress(L1Error):
                self.renew()  # it slept: what begins now has another lease, if that one is gone
        if self._ref is not None or self._closed:
            return
        with self._writing:
            if self.name is None and awake_seconds() >= self._not_before:
                try:
                    self._create()
                except L1Error as error:
                    self._not_before = awake_seconds() + self._seconds / 3
                    emit("lease_not_taken", place=self._root.place, error=str(error))

    def _replaced(self, ref: Ref, value: Mapping[str, Any]) -> Ref | None:
        """Replace the document; None where it is gone. Nobody else ever changes it."""
        refs = lease_refs(self._root)
        found: Ref | None = ref
        while found is not None:
            try:
                return refs.replace(found, value)
            except RefNotFound:
                return None
            except RefChanged:
                found = refs.get(ref.name)  # an earlier renewal landed, whose reply was lost
        return None

    def _create(self) -> None:
        started = awake_seconds()
        record = self._record()
        made = lease_refs(self._root).create(new_ulid(), written(record))
        with self._lock:
            self._ref, self._pins, self._renewed = made, record.pins, started
        failpoint(_TAKEN)
        thread = threading.Thread(
            target=_keep_renewed,
            args=(weakref.ref(self), self._wake, self._seconds / 3, made.name),
            name="omnigraph-lease",
            daemon=True,
        )
        thread.start()

    def _record(self) -> LeaseRecord:
        """Say what is needed: the least of all that is held on to, and of what is read next."""
        with self._lock:
            now = self._clock()
            known = dict(self._known())
            holds = list(self._holds)
        open_ended = [each.floors for each in holds if not each.is_settled]
        # What began before a branch was first read may be about to need what was read first.
        pins = {
            name: read.last if all(name in floors for floors in open_ended) else read.first
            for name, read in known.items()
        }
        for floors in (each.floors for each in holds):
            for name, version in floors.items():
                pins[name] = min(version, pins.get(name, version))
        since = min((each.since for each in holds if each.since is not None), default=now)
        return LeaseRecord(
            process=os.getpid(),
            renewed_at=now,
            seconds=self._seconds,
            since=min(since, now),
            pins=pins,
            cleaning=self._cleaning > 0,
        )


def _keep_renewed(
    leases: weakref.ref[Leases], wake: threading.Event, seconds: float, name: str
) -> None:
    """Renew a lease until it is given back, or lost, or nobody needs it any more."""
    while True:
        wake.wait(seconds)
        wake.clear()
        held: Any = leases()
        if held is None or held.name != name:
            return
        try:
            held.renew()
        except L1Error as error:
            emit("lease_not_renewed", error=str(error))
        del held
