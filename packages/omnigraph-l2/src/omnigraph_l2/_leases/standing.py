"""Which leases count, and which are of the dead.

Always: that is told by the store's clock alone: when the lease was last written against when the
asker's own was, a moment ago. No clock of a holder matters. A dead lease is taken away before
anything that it covered goes, and only if it is still the one that was judged: a holder that wakes
up either has renewed it in time, or finds it gone before it publishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import attrs

from omnigraph_l1 import Ref
from omnigraph_l1.errors import RefChanged, RefNotFound
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._leases.leases import lease_refs
from omnigraph_l2._leases.records import LeaseRecord, parsed
from omnigraph_l2._storage import Root

__all__ = ["Standing", "bury", "is_being_cleaned", "standing", "store_time"]

_BURIED = declare("l2.lease.buried", "the lease of one that died is gone")

_SPANS = 2
"""For how many times its duration a lease must have been silent to be dead."""


@attrs.frozen(kw_only=True)
class Standing:
    """The leases, at one moment."""

    live: tuple[LeaseRecord, ...]
    dead: tuple[Ref, ...]


def store_time(root: Root, name: str | None) -> datetime | None:
    """Tell what time it was, by the store's clock, when a lease was last written."""
    return None if name is None else lease_refs(root).written_at().get(name)


def standing(root: Root, now: datetime) -> Standing:
    """Read all leases; ``now`` is by the store's clock."""
    kept = lease_refs(root)
    refs = kept.list()
    times = kept.written_at() if refs else {}
    live: list[LeaseRecord] = []
    dead: list[Ref] = []
    for ref in refs:
        record = parsed(ref.name, ref.value, root.place)
        written_at = times.get(ref.name)
        if written_at is None:
            continue  # given back meanwhile
        if now - written_at > timedelta(seconds=_SPANS * record.seconds):
            dead.append(ref)
        else:
            live.append(record)
    return Standing(live=tuple(live), dead=tuple(dead))


def bury(root: Root, dead: Sequence[Ref]) -> bool:
    """Take leases of the dead away; False where one of them turned out to be alive."""
    refs = lease_refs(root)
    all_dead = True
    for ref in dead:
        try:
            refs.delete(ref)
        except RefNotFound:
            continue
        except RefChanged:
            all_dead = False
        else:
            failpoint(_BURIED)
    return all_dead


def is_being_cleaned(root: Root, now: datetime) -> bool:
    """Tell whether somebody cleans up at this moment; ``now`` is by the store's clock.

    Who was taken for dead finds the lease gone if it wakes up, and removes nothing more.
    """
    found = standing(root, now)
    asleep = [ref for ref in found.dead if parsed(ref.name, ref.value, root.place).cleaning]
    return any(each.cleaning for each in found.live) or not bury(root, asleep)
