"""Refs as objects in a store: every change is one conditional PUT, tried once.

Invariants:

* A write names what it goes on from: nothing (If-None-Match, or generation 0), or the e_tag (and
  version) that was read. No two documents have one e_tag, because each holds a fresh write id, so
  a PUT that the client gave up on and that arrives late lands only where nothing else happened.
* obstore must not retry these PUTs: its second try would meet its own first one and report
  a conflict. ``refs`` retries, because it can recognise its own write.
* Deleting is a PUT too, of a tombstone (``keeps_tombstones``). obstore's delete is unconditional,
  so one that is delayed would remove what was created since. A conditional DELETE would be sound
  by itself, but it brings back "nothing is here", the one state that can occur twice: a delayed
  create of long ago would then succeed, and raise the dead. After a tombstone it cannot.

What stays: one small object for each name that was deleted and not created again. ``tidying``
removes those that are old enough that no delayed request can be on its way.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Hashable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from omnigraph_l1._refs.condition_probe import probe_conditions
from omnigraph_l1._refs.ref_backend import ConditionFailed, ReplyLost, Stored
from omnigraph_l1._refs.ref_document import SUFFIX
from omnigraph_l1._storage.location import Storage
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._storage.storage_options import parse_seconds
from omnigraph_l1._storage.store_failures import (
    Failure,
    failure_kind,
    harmless,
    store_errors,
    to_storage_error,
    words,
)
from omnigraph_l1._text_encoding import decode_json, encode_json
from omnigraph_l1.deadlines import REFS_REQUEST_SECONDS
from omnigraph_l1.errors import StorageError, UnsafeStore
from omnigraph_l1.failpoints import declare, failpoint

if TYPE_CHECKING:
    from obstore.store import ObjectStore

__all__ = ["StoreBackend", "probe_store_once"]

_SENDING = declare("refs.store.sending", "A conditional PUT is about to be sent.")
_SENT = declare("refs.store.sent", "The reply to a conditional PUT has come, and says done.")

_ENDPOINTS = ("aws_endpoint", "azure_storage_endpoint", "google_base_url")
_probing = threading.Lock()
_honest: set[Hashable] = set()
"""The stores that were found to honour conditions, in this process."""

_MAYBE_DONE = {Failure.UNAVAILABLE, Failure.OTHER}


class StoreBackend:
    """A prefix in S3, GCS or Azure."""

    keeps_tombstones = True

    def __init__(self, storage: Storage) -> None:
        self._storage = _impatient(storage)
        self._once = self._storage.with_options(client_max_retries="0")
        options = storage.lance_options
        self.attempts = 1 + int(options["client_max_retries"])
        self.seconds = float(options["client_retry_timeout"])

    def read(self, file_name: str) -> Stored | None:
        """Read the object."""
        store = self._storage.object_store()
        try:
            return run_watched(self._storage, lambda: _read(store, file_name))
        except store_errors() as error:
            if failure_kind(error) is Failure.ABSENT:
                return None
            raise self._failure(error) from harmless(error)

    def write(self, file_name: str, data: bytes, expected: str | None) -> str:
        """Put the object where the condition holds; one request."""
        mode: Any = "create" if expected is None else decode_json(expected)
        store = self._once.object_store()
        failpoint(_SENDING)
        try:
            put = run_watched(self._once, lambda: store.put(file_name, data, mode=mode))
            done = _token(put)
        except store_errors() as error:
            kind = failure_kind(error)
            if kind in {Failure.EXISTS, Failure.PRECONDITION}:
                raise ConditionFailed from harmless(error)
            failure = self._failure(error)
            if kind in _MAYBE_DONE:
                raise ReplyLost(failure) from harmless(error)
            raise failure from harmless(error)
        failpoint(_SENT)
        return done

    def remove(self, file_name: str, expected: str) -> None:
        """Never called: tombstones are written instead."""
        raise NotImplementedError

    def marks(self) -> dict[str, str | None]:
        """List the objects directly below the prefix, each with its e_tag."""
        listed = ((_last_segment(each["path"]), each["e_tag"]) for each in self._list_objects(None))
        return {name: e_tag for name, e_tag in listed if name.endswith(SUFFIX)}

    def ages(self, below: str | None = None) -> dict[str, datetime]:
        """Return when each object directly below the prefix was last written, by the store's clock.

        ``below`` is a prefix below this one.
        """
        listed = self._list_objects(below)
        return {_last_segment(each["path"]): each["last_modified"] for each in listed}

    def _list_objects(self, below: str | None) -> Sequence[Mapping[str, Any]]:
        store = self._storage.object_store()
        try:
            listed: Sequence[Mapping[str, Any]] = run_watched(
                self._storage, lambda: store.list_with_delimiter(below)["objects"]
            )
        except store_errors() as error:
            if failure_kind(error) is Failure.ABSENT:
                return ()
            raise self._failure(error) from harmless(error)
        return listed

    def probe(self) -> None:
        """Find out, with an object of its own, whether conditions are honoured."""
        probe_conditions(self)
        _honest.add(_store_of(self._storage))

    def erase(self, file_name: str) -> None:
        """Remove an object unconditionally. For probes only."""
        store = self._storage.object_store()
        try:
            run_watched(self._storage, lambda: store.delete(file_name))
        except store_errors() as error:
            if failure_kind(error) is not Failure.ABSENT:
                raise self._failure(error) from harmless(error)

    @property
    def storage(self) -> Storage:
        """The prefix, and how to reach it."""
        return self._storage

    @property
    def location(self) -> str:
        """Where it is, for errors."""
        return str(self._storage.location)

    def _failure(self, error: Exception) -> StorageError:
        if failure_kind(error) is Failure.UNSUPPORTED:
            return UnsafeStore(location=self.location, detail=words(error))
        return to_storage_error(error, self.location)


def probe_store_once(storage: Storage) -> None:
    """Raise ``UnsafeStore`` if the store of a location ignores conditions.

    It is asked once in each process, below the location, whatever is written to it afterwards.
    """
    with _probing:
        if _store_of(storage) not in _honest:
            StoreBackend(storage).probe()


def _unlock_in_child() -> None:
    """Make a new lock: a thread that holds the old one is not there to release it."""
    global _probing  # noqa: PLW0603 - a lock cannot be reset
    _probing = threading.Lock()


os.register_at_fork(after_in_child=_unlock_in_child)


def _store_of(storage: Storage) -> Hashable:
    where, options = storage.location, storage.lance_options
    return where.scheme, where.bucket, *map(options.get, _ENDPOINTS)


def _impatient(storage: Storage) -> Storage:
    given = parse_seconds(storage.lance_options["timeout"])
    return storage.with_options(timeout=f"{round(min(given, REFS_REQUEST_SECONDS) * 1000)}ms")


def _read(store: ObjectStore, file_name: str) -> Stored:
    found = store.get(file_name)
    return Stored(bytes(found.bytes()), _token(found.meta))


def _token(meta: Mapping[str, Any]) -> str:
    return encode_json({name: meta[name] for name in ("e_tag", "version") if meta[name]})


def _last_segment(path: str) -> str:
    return path.rpartition("/")[2]
