"""Removal of what deleted refs leave in a store. Nothing depends on it.

A tombstone can go when no create that was sent before it can arrive any more: such a create asks
for "nothing is here", which the tombstone denies and its removal would grant. A signed request is
refused by S3 when its time is a quarter of an hour off, and no client of ours waits longer than a
minute: after an hour (``OLD_ENOUGH``) none is left. A name that is never used again needs no wait.

It goes by a DELETE that names its e_tag, a request that obstore does not have: a URL that obstore
signed, and one request by the standard library, ten seconds at most. The URL is a secret while it
lasts, and is in no error. Whether the store honours that condition is tried first, on an object of
our own. Where it does not, or where the connection cannot do it, tombstones stay.
"""

from __future__ import annotations

import contextlib
import http.client
from datetime import datetime, timedelta, timezone
from typing import Any, Protocol
from urllib.parse import urlsplit

import attrs

from omnigraph_l1._events import emit
from omnigraph_l1._refs.condition_probe import PROBES
from omnigraph_l1._refs.ref_backend import ConditionFailed, ReplyLost, Stored
from omnigraph_l1._refs.ref_document import SUFFIX, parse
from omnigraph_l1._storage.location import Storage
from omnigraph_l1._storage.store_failures import store_errors
from omnigraph_l1._text_encoding import decode_json, new_ulid
from omnigraph_l1.deadlines import DELETE_SECONDS
from omnigraph_l1.errors import CorruptRef, InvalidRequest, StorageError

__all__ = ["OLD_ENOUGH", "erase_tombstone", "tidy"]

OLD_ENOUGH = timedelta(hours=1)

_honoured: dict[Storage, bool] = {}


class _Tidied(Protocol):
    @property
    def location(self) -> str: ...
    @property
    def storage(self) -> Storage: ...
    def read(self, file_name: str) -> Stored | None: ...
    def write(self, file_name: str, data: bytes, expected: str | None) -> str: ...
    def erase(self, file_name: str) -> None: ...
    def ages(self, below: str | None = None) -> dict[str, datetime]: ...


def tidy(backend: _Tidied, older_than: timedelta) -> int:
    """Remove tombstones and left-over probes that are old enough; return how many."""
    if older_than < OLD_ENOUGH:
        reason = f"{older_than} is too young: a delayed request may be on its way for an hour"
        raise InvalidRequest(location=backend.location, reason=reason)
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
        return bool(token) and _honours_conditions(backend) and _delete(backend, file_name, token)
    except (CannotDelete, StorageError) as error:
        emit("refs.tombstone_left", location=backend.location, reason=type(error).__name__)
        return False


def _erase_if_tombstone(backend: _Tidied, name: str) -> bool:
    found = backend.read(name)
    if found is None:
        return False
    try:
        deleted = parse(backend.location, name, found.data, found.token).deleted
    except CorruptRef:
        return False
    return deleted and erase_tombstone(backend, name, found.token)


def _delete(backend: _Tidied, file_name: str, token: str) -> bool:
    return delete_if_match(backend.storage, file_name, token)


def _honours_conditions(backend: _Tidied) -> bool:
    """Try once for each bucket: only a DELETE with the right e_tag may be done."""
    bucket = attrs.evolve(backend.storage, location=attrs.evolve(backend.storage.location, key=""))
    known = _honoured.get(bucket)
    if known is None:
        known = _honoured[bucket] = _try_conditional_delete(backend)
        emit("refs.conditional_delete", location=backend.location, honoured=known)
    return known


def _try_conditional_delete(backend: _Tidied) -> bool:
    name = f"{PROBES}/{new_ulid()}"
    try:
        stale = backend.write(name, b"first", None)
        current = backend.write(name, b"second", stale)
        refused = not _delete(backend, name, stale)
        kept = backend.read(name) is not None
        return refused and kept and _delete(backend, name, current) and backend.read(name) is None
    except (CannotDelete, ConditionFailed, ReplyLost):
        return False
    finally:
        with contextlib.suppress(StorageError):
            backend.erase(name)


_ONLY_OBSTORE_CAN = ("proxy_url", "proxy_ca_certificate", "allow_invalid_certificates")
_DONE, _REFUSED = {200, 202, 204}, {404, 409, 412}


class CannotDelete(Exception):  # never leaves the package
    """A conditional DELETE cannot be sent, or was not understood."""


def delete_if_match(storage: Storage, key: str, token: str) -> bool:
    """Delete the object below the storage's location, if it is the one that the token names.

    Return False if another one is there, or none. Raise ``CannotDelete`` if this connection cannot
    do it.
    """
    e_tag = decode_json(token)["e_tag"]
    if not e_tag or any(name in storage.lance_options for name in _ONLY_OBSTORE_CAN):
        raise CannotDelete
    try:
        status = _send(_sign_url(storage, key), {"If-Match": e_tag})
    except (OSError, http.client.HTTPException) as error:
        raise CannotDelete(type(error).__name__) from None
    if status in _DONE | _REFUSED:
        return status in _DONE
    raise CannotDelete(str(status))


def _sign_url(storage: Storage, key: str) -> str:
    import obstore  # noqa: PLC0415

    store: Any = storage.object_store()
    try:
        return obstore.sign(store, "DELETE", key, timedelta(seconds=2 * DELETE_SECONDS))
    except store_errors() as error:
        raise CannotDelete(type(error).__name__) from None


def _send(url: str, headers: dict[str, str]) -> int:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=DELETE_SECONDS)
    try:
        connection.request("DELETE", f"{parts.path}?{parts.query}", headers=headers)
        reply = connection.getresponse()
        reply.read()
        return reply.status
    finally:
        connection.close()
