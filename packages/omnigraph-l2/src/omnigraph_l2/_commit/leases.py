"""Leases and pins: what this process, and each snapshot or transaction in it, may still need.

A lease is the document ``_refs/leases/<ulid>.json``. A thread of its own renews it; closing the
handle removes it. A handle that was not renewed for too long checks that its lease still exists
before it publishes. Time is measured by a clock that cannot be set and that goes on while the
machine sleeps: ``time.monotonic`` stands still then on Linux and on macOS.

What writes takes a lease before it reads. What only reads takes none at first, because a cleanup
keeps what was visible within ``SHORT_READ_SECONDS``: the thread takes one for a pin that is half as
old, and at once for a pin of an older version. If that fails, reading goes on without a lease, and
what was removed raises ``SnapshotExpired``.

Invariant: the document covers everything that the handle reads or stages later, so that a
transaction or a snapshot writes nothing by itself. A pin never understates what it needs. Both hold
because heads and versions of the catalog only move forward.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, Final, Protocol, TypeVar

from omnigraph_l1 import JsonRefs, Ref, new_ulid
from omnigraph_l1.errors import L1Error, RefChanged, RefNotFound
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._catalog.graph_commit import EPOCH
from omnigraph_l2._commit.lease_records import LeaseRecord, write_lease
from omnigraph_l2._model.deadlines import SHORT_READ_SECONDS
from omnigraph_l2._model.events import emit
from omnigraph_l2._model.repository_layout import LEASE_REFS
from omnigraph_l2._store.manifest_store import VersionsRead
from omnigraph_l2._store.repository_root import RepositoryRoot, check_writable
from omnigraph_l2.errors import (
    CorruptRepository,
    InvalidRequest,
    LeaseLost,
    SnapshotExpired,
    StorageError,
    TransactionClosed,
)

__all__ = [
    "LEASE_SECONDS",
    "MAIN_LINEAGE",
    "Leases",
    "Pin",
    "boottime_seconds",
    "guard_lease",
    "lease_refs",
]

_T = TypeVar("_T")

MAIN_LINEAGE = "main"
"""What the main lineage of the catalog is called in a lease: no native branch has this name."""


class _Keeper(Protocol):
    def check(self, hold: Pin) -> None: ...
    def outlive(self, hold: Pin) -> None: ...
    def extend_back(self, native: str, version: int) -> None: ...
    def renew(self) -> None: ...


class Pin:
    """The versions of the catalog from which its owner may need data.

    The lease refers to it weakly. ``floors`` has a version for each native branch of the catalog
    that was read when the pin was made. Of another branch, everything since the time ``since`` is
    needed.
    """

    __slots__ = (
        "__weakref__",
        "_keeper",
        "began",
        "floors",
        "generation",
        "is_narrowed",
        "is_of_head",
        "is_publishing",
        "since",
    )

    def __init__(
        self,
        keeper: _Keeper,
        *,
        floors: Mapping[str, int],
        since: datetime,
        began: float,
        generation: int | None,
    ) -> None:
        self._keeper = keeper
        self.floors: Mapping[str, int] = floors
        self.since: datetime | None = since
        """Since when files may be written for it that no version names; None where none are."""
        self.began = began
        self.generation = generation
        """The lease under which it was made; None where there was none."""
        self.is_of_head = False
        """Whether that was the head when it was read: then a lease covers it from the start."""
        self.is_narrowed = False
        """Whether it is known which version it needs, so that nothing else is."""
        self.is_publishing = False
        """Whether a commit is being published under it, so that its lease must not be released."""

    def narrow(
        self, native: str | None, version: int, *, is_head: bool = False, writes: bool = False
    ) -> None:
        """Limit the pin to one version of one branch. ``writes`` says whether files are written.

        ``is_head`` says that the version was the newest when it was read under this pin.
        """
        name = MAIN_LINEAGE if native is None else native
        self.floors = {name: version}
        self.is_narrowed = True
        self.is_of_head = is_head
        if not writes:
            self.since = None
        self._keeper.extend_back(name, version)

    def hold_back_tables(self) -> None:
        """Let no cleanup that begins remove versions of tables as long as this pin is there."""
        self.since = EPOCH
        self._keeper.renew()

    def check(self) -> None:
        """Raise ``LeaseLost`` if what is pinned may have been cleaned up."""
        self._keeper.check(self)

    def outlive(self) -> None:
        """Take a lease if there is none and this pin is not short-lived any more."""
        self._keeper.outlive(self)

    def __reduce__(self) -> Any:
        problem = "a hold belongs to its process"
        raise TypeError(problem)


@contextmanager
def guard_lease(pin: Pin | None) -> Iterator[None]:
    """Raise ``LeaseLost`` if an expired lease is why something is missing or damaged.

    A missing file means an expired lease only if the lease under which the pin was made is gone.
    """
    try:
        yield
    except (CorruptRepository, InvalidRequest, SnapshotExpired, StorageError):
        if pin is not None:
            with suppress(L1Error):  # where the store fails, it fails here too
                pin.check()
        raise


_CLOCK = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)


def boottime_seconds() -> float:
    """Return the seconds since an arbitrary start, including the time that the machine slept."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


LEASE_SECONDS: Final = 300.0
"""How long a lease counts that is not renewed. It is renewed after a third of that."""

_TAKEN = declare("l2.lease.taken", "the handle has a lease")
_RENEWED = declare("l2.lease.renewed", "the lease of the handle says what is needed now")


def lease_refs(root: RepositoryRoot) -> JsonRefs:
    """Return the lease documents. They need no flush: a power cut ends their holders too."""
    return JsonRefs.open(root.storage, LEASE_REFS, durability="none", reuse_names=False)


class Leases:
    """The lease of one repository handle. Threads may share it."""

    def __init__(
        self,
        root: RepositoryRoot,
        *,
        clock: Callable[[], datetime],
        known: Callable[[], Mapping[str, VersionsRead]],
        seconds: float = LEASE_SECONDS,
    ) -> None:
        """``known`` returns what was read of each branch of the catalog, by its native name."""
        self._root = root
        self._clock = clock
        self._known = known
        self._seconds = seconds
        self.short_read_seconds = SHORT_READ_SECONDS
        """For how long a head can be read without a lease; with 0, reading takes one at once."""
        self._heartbeat: threading.Thread | None = None
        self._holds: weakref.WeakSet[Pin] = weakref.WeakSet()
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
        """Take no lease for reading, so that reading leaves nothing in a foreign repository."""
        self._for_readers = False

    def hold(self, *, writes: bool = False) -> Pin:
        """Pin everything that is visible or written from now on."""
        self._root.check_process()
        if writes:
            self._root.check_open()
            if self._root.writable_at is None:
                check_writable(self._root)  # the publish looks again
        if writes or self._for_readers:
            if writes or self._ref is not None or not self.short_read_seconds:
                self._take(writes=writes)
            else:
                self._start_heartbeat()
        with self._lock:
            if not writes or self._ref is not None:
                hold = Pin(
                    self,
                    floors={name: read.last for name, read in self._known().items()},
                    since=self._clock(),
                    began=boottime_seconds(),
                    generation=None if self._ref is None else self._generation,
                )
                self._holds.add(hold)
                return hold
        if self._closed:
            raise TransactionClosed(what="repository handle", state="closed")
        return self.hold(writes=writes)  # the lease was lost a moment ago

    def check(self, hold: Pin) -> None:
        """Raise ``LeaseLost`` if what a pin needs may have been cleaned up."""
        if hold.generation is None:
            return  # a reader: what it reads and does not find has expired
        now, since = boottime_seconds(), self._renewed
        if hold.generation == self._generation and not self._closed and now - since > self._seconds:
            self.renew()
        if hold.generation != self._generation or self._closed:
            raise LeaseLost(location=self._root.location, seconds=now - since)

    def take(self) -> None:
        """Take a lease for what is read next, if there is none and one can be taken."""
        if self._for_readers:
            self._take(writes=False)

    def outlive(self, hold: Pin) -> None:
        """Take a lease for a pin that is half as old as a pin without one may become."""
        if self._ref is None and self._for_readers and self._age(hold) >= self._half_short_read:
            self._take(writes=False)

    def repeat_if_lost(self, read: Callable[[], _T], is_sound: Callable[[_T], bool]) -> _T:
        """Return what ``read`` gives; once more if it is not sound and was not covered all along.

        What is missing then was needed by nothing but this reader.
        """
        pin = self.hold()
        found = read()
        if is_sound(found) or not self._may_be_lost(pin):
            return found
        return read()

    def _may_be_lost(self, pin: Pin) -> bool:
        if pin.generation is None:
            return self._age(pin) >= self.short_read_seconds
        try:
            self.renew()
            pin.check()
        except LeaseLost:
            return True
        except L1Error:
            pass  # where the store fails, what was found says so
        return False

    def extend_back(self, native: str, version: int) -> None:
        """Renew or take the lease soon if it does not cover this older version."""
        if self._ref is None or version < self._pins.get(native, version):
            self._wake.set()

    @property
    def _half_short_read(self) -> float:
        return self.short_read_seconds / 2

    def _age(self, pin: Pin) -> float:
        return boottime_seconds() - pin.began

    def beat(self, seconds: float) -> None:
        """Renew the lease, or take one if a pin needs it before this is called again."""
        if self._ref is not None:
            self.renew()
            return
        with self._lock:
            holds = list(self._holds)
        if self._for_readers and any(
            (each.is_narrowed and not each.is_of_head)
            or self._age(each) + seconds >= self._half_short_read
            for each in holds
        ):
            self._take(writes=False)

    @property
    def is_closed(self) -> bool:
        """Whether the handle was closed, so that there will be no lease again."""
        return self._closed

    def renew(self) -> None:
        """Write what is needed now, if the lease still exists."""
        self._root.check_process()
        with self._writing:
            if self._ref is None or self._closed:
                return
            started = boottime_seconds()
            record = self._record()
            made = self._replace(self._ref, write_lease(record))
            with self._lock:
                self._ref = made
                if made is None:
                    self._generation += 1
            if made is None:
                emit("lease_lost", location=self._root.location)
                return
            self._pins, self._renewed = record.pins, started
            failpoint(_RENEWED)

    def announce(self, *, cleaning: bool) -> None:
        """Announce, by the lease, that this handle cleans up, or that it has finished.

        An operation that keeps something from an old snapshot waits until no cleanup is running.
        """
        if cleaning:
            check_writable(self._root)
        with self._writing:
            self._cleaning += 1 if cleaning else -1
            if self._ref is None and cleaning:
                self._create()
            else:
                self.renew()
                if self._ref is None and cleaning:
                    self._create()

    def close(self) -> None:
        """Release the lease. Only the retention protects what is still pinned then.

        If a thread is publishing, its last check may be over: then the lease is left to expire.
        A forked child does nothing: the lease is that of its parent.
        """
        if self._root.is_forked:
            return
        self._closed = True
        self._wake.set()
        with self._writing:
            ref, self._ref = self._ref, None
            with self._lock:
                is_publishing = any(each.is_publishing for each in self._holds)
            if is_publishing:
                detail = "another thread is publishing"
                emit("lease_left_behind", location=self._root.location, error=detail)
            elif ref is not None:
                try:
                    lease_refs(self._root).delete(ref)
                except L1Error as error:
                    emit("lease_left_behind", location=self._root.location, error=str(error))

    def _take(self, *, writes: bool) -> None:
        """Take a lease if there is none; raise if that fails and something is to be written."""
        if self._ref is not None and boottime_seconds() - self._renewed > self._seconds:
            with suppress(L1Error):
                self.renew()  # it slept: what begins now has another lease, if that one is gone
        if self._ref is not None or self._closed:
            return
        with self._writing:
            if self.name is not None or self.is_closed:
                return
            if writes or boottime_seconds() >= self._not_before:
                try:
                    self._create()
                except L1Error as error:
                    self._not_before = boottime_seconds() + self._seconds / 3
                    emit("lease_not_taken", location=self._root.location, error=str(error))
                    if writes:
                        raise

    def _replace(self, ref: Ref, value: Mapping[str, Any]) -> Ref | None:
        """Replace the document; None if it is gone. No other handle ever changes it."""
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
        started = boottime_seconds()
        record = self._record()
        made = lease_refs(self._root).create(new_ulid(), write_lease(record))
        with self._lock:
            self._ref, self._pins, self._renewed = made, record.pins, started
        failpoint(_TAKEN)
        self._start_heartbeat()

    def _start_heartbeat(self) -> None:
        """Start the thread that renews the lease, and takes one where reading lasts."""
        if self._heartbeat is not None:
            return
        seconds = min(self._seconds, self.short_read_seconds or self._seconds) / 3
        with self._lock:
            if self._heartbeat is None:
                self._heartbeat = threading.Thread(
                    target=_run_heartbeat,
                    args=(weakref.ref(self), self._wake, seconds),
                    name="omnigraph-lease",
                    daemon=True,
                )
                self._heartbeat.start()

    def _record(self) -> LeaseRecord:
        """Return what is needed: the oldest of all versions that are pinned or read next."""
        with self._lock:
            now = self._clock()
            known = dict(self._known())
            holds = list(self._holds)
        open_ended = [each.floors for each in holds if not each.is_narrowed]
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


def _run_heartbeat(leases: weakref.ref[Leases], wake: threading.Event, seconds: float) -> None:
    """Take and renew the lease of a handle until that is closed or gone."""
    while True:
        wake.wait(seconds)
        wake.clear()
        held: Any = leases()
        if held is None or held.is_closed:
            return
        try:
            held.beat(seconds)
        except L1Error as error:
            emit("lease_not_renewed", error=str(error))
        del held
