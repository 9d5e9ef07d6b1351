"""Removing what deleted refs leave in a store. Tidiness only: nothing depends on it.

A tombstone can go when no create that was sent before it can arrive any more: such a create asks
for "nothing is here", which the tombstone denies and its removal would grant. A signed request is
refused by S3 when its time is a quarter of an hour off, and no client of ours waits longer than a
minute: after an hour (``OLD_ENOUGH``) none is left. A name that is never used again needs no wait.

It goes by a DELETE that names its e_tag. Whether the store honours that condition is tried first,
on an object of our own. Where it does not, or where the connection cannot do it, tombstones stay.
"""

from __future__ import annotations

import contextlib
from datetime import datetime, timedelta, timezone
from typing import Protocol

import attrs

from omnigraph_l1._events import emit
from omnigraph_l1._places import Storage
from omnigraph_l1._refs.backend import Mismatch, Stored, Unsettled
from omnigraph_l1._refs.conditional_delete import CannotDelete, delete_if_match
from omnigraph_l1._refs.document import parse
from omnigraph_l1._refs.names import SUFFIX
from omnigraph_l1._refs.probing import PROBES
from omnigraph_l1._ulid import new_ulid
from omnigraph_l1.errors import CorruptRef, InvalidRequest, StorageError

__all__ = ["OLD_ENOUGH", "erase_tombstone", "tidy"]

OLD_ENOUGH = timedelta(hours=1)

_honoured: dict[Storage, bool] = {}


class _Tidied(Protocol):
    @property
    def place(self) -> str: ...
    @property
    def storage(self) -> Storage: ...
    def read(self, file_name: str) -> Stored | None: ...
    def write(self, file_name: str, data: bytes, expected: str | None) -> str: ...
    def erase(self, file_name: str) -> None: ...
    def ages(self, below: str | None = None) -> dict[str, datetime]: ...


def tidy(backend: _Tidied, older_than: timedelta) -> int:
    """Remove tombstones and left-over probes that are old enough; give how many."""
    if older_than < OLD_ENOUGH:
        reason = f"{older_than} is too young: a delayed request may be on its way for an hour"
        raise InvalidRequest(place=backend.place, reason=reason)
    before = datetime.now(timezone.utc) - older_than
    removed = 0
    for name, written in backend.ages(PROBES).items():
        if written < before:
            backend.erase(f"{PROBES}/{name}")
            removed += 1
    old = [name for name, written in backend.ages().items() if written < before]
    for name in old:
        if name.endswith(SUFFIX):
            removed += _erase_if_tombstone(backend, name)
    return removed


def erase_tombstone(backend: _Tidied, file_name: str, token: str) -> bool:
    """Remove a tombstone of a name that is not used again, if that can be done; else leave it."""
    try:
        return bool(token) and _is_honoured(backend) and _delete(backend, file_name, token)
    except (CannotDelete, StorageError) as error:
        emit("refs.tombstone_left", place=backend.place, reason=type(error).__name__)
        return False


def _erase_if_tombstone(backend: _Tidied, name: str) -> bool:
    found = backend.read(name)
    if found is None:
        return False
    try:
        deleted = parse(backend.place, name, found.data, found.token).deleted
    except CorruptRef:
        return False
    return deleted and erase_tombstone(backend, name, found.token)


def _delete(backend: _Tidied, file_name: str, token: str) -> bool:
    return delete_if_match(backend.storage, file_name, token)


def _is_honoured(backend: _Tidied) -> bool:
    """Try once for each bucket: only a DELETE with the right e_tag may be done."""
    bucket = attrs.evolve(backend.storage, place=attrs.evolve(backend.storage.place, key=""))
    known = _honoured.get(bucket)
    if known is None:
        known = _honoured[bucket] = _tried(backend)
        emit("refs.conditional_delete", place=backend.place, honoured=known)
    return known


def _tried(backend: _Tidied) -> bool:
    name = f"{PROBES}/{new_ulid()}"
    try:
        stale = backend.write(name, b"first", None)
        current = backend.write(name, b"second", stale)
        refused = not _delete(backend, name, stale)
        kept = backend.read(name) is not None
        return refused and kept and _delete(backend, name, current) and backend.read(name) is None
    except (CannotDelete, Mismatch, Unsettled):
        return False
    finally:
        with contextlib.suppress(StorageError):
            backend.erase(name)
