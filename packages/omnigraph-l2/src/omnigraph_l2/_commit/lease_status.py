"""Decide which leases are alive, and delete expired ones.

Invariant: the store's clock alone decides: it compares when a lease was last written with when the
asker's own was, a moment ago. The clock of a holder does not matter. An expired lease is deleted
before anything that it covered, and only if it is still the document that was judged. All branches
are fenced between the two. So the holder, if it wakes up, has renewed its lease in time, or had
published before the fence, or finds its lease gone before it publishes: also where it was stopped
between its last look at the lease and its write, because that write is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import attrs

from omnigraph_l1 import Ref
from omnigraph_l1.errors import RefChanged, RefNotFound
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._commit.lease_records import LeaseRecord, parse_lease
from omnigraph_l2._commit.leases import lease_refs
from omnigraph_l2._store.repository_root import RepositoryRoot

__all__ = ["LeaseStatus", "expire", "is_being_cleaned", "read_lease_status", "store_time"]

_FENCED = declare("l2.lease.fenced", "no commit lands that was checked before leases expired")
_EXPIRED = declare("l2.lease.buried", "the lease of one that died is gone")

_SPANS = 2
"""For how many times its duration a lease must have been silent to be expired."""


@attrs.frozen(kw_only=True)
class LeaseStatus:
    """The live and the expired leases at one time."""

    live: tuple[LeaseRecord, ...]
    expired: tuple[Ref, ...]


def store_time(root: RepositoryRoot, name: str | None) -> datetime | None:
    """Return when a lease was last written, by the store's clock."""
    return None if name is None else lease_refs(root).written_at().get(name)


def read_lease_status(root: RepositoryRoot, now: datetime) -> LeaseStatus:
    """Read all leases; ``now`` is by the store's clock."""
    kept = lease_refs(root)
    refs = kept.list()
    times = kept.written_at() if refs else {}
    live: list[LeaseRecord] = []
    expired: list[Ref] = []
    for ref in refs:
        record = parse_lease(ref.name, ref.value, root.location)
        written_at = times.get(ref.name)
        if written_at is None:
            continue  # released since it was listed
        if now - written_at > timedelta(seconds=_SPANS * record.seconds):
            expired.append(ref)
        else:
            live.append(record)
    return LeaseStatus(live=tuple(live), expired=tuple(expired))


def expire(root: RepositoryRoot, expired: Sequence[Ref], fence: Callable[[], None]) -> bool:
    """Delete expired leases; return False if one of them was renewed.

    ``fence`` ends all attempts to publish that were checked before. Where it fails, no lease is
    deleted.
    """
    if not expired:
        return True
    fence()
    failpoint(_FENCED)
    refs = lease_refs(root)
    all_expired = True
    for ref in expired:
        try:
            refs.delete(ref)
        except RefNotFound:
            continue
        except RefChanged:
            all_expired = False
        else:
            failpoint(_EXPIRED)
    return all_expired


def is_being_cleaned(root: RepositoryRoot, now: datetime, fence: Callable[[], None]) -> bool:
    """Return whether a cleanup is running; ``now`` is by the store's clock.

    A cleanup whose lease expired finds its lease gone if it wakes up. It hands nothing more to
    Lance then; what it had handed over before is removed all the same.
    """
    found = read_lease_status(root, now)
    stopped = [
        ref for ref in found.expired if parse_lease(ref.name, ref.value, root.location).cleaning
    ]
    return any(each.cleaning for each in found.live) or not expire(root, stopped, fence)
