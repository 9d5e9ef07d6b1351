"""Calls that wait for a store, watched, so that a store that never answers is reported in time.

A call of Lance or obstore cannot be cancelled, and no option of theirs bounds one: Lance sends a
listing six times, each with the time-out that slow uploads need. So each call to a store is
made in a thread of its own. If it takes long, the store is asked something small. While the store
answers, the call has all the time that it needs. If it is silent, the call is abandoned.

Invariant: what is abandoned may still have its effect. Its error is ``ETIMEDOUT``, which callers
take for a lost reply if the call could have written. Calls on local disk are made directly.
"""

from __future__ import annotations

import errno
import http.client
import time
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit

import attrs

from omnigraph_l1._events import emit
from omnigraph_l1._storage.location import Storage
from omnigraph_l1._storage.storage_options import parse_seconds
from omnigraph_l1._storage.store_failures import Failure, failure_kind, store_errors
from omnigraph_l1.abandonable_calls import PendingCall
from omnigraph_l1.deadlines import (
    PROBE_SECONDS,
    SILENCE_SECONDS,
    STORE_OPTIONS,
    SUSPECT_PROBE_SECONDS,
    SUSPECT_SILENCE_SECONDS,
    wait_seconds,
)

__all__ = ["run_watched"]

_T = TypeVar("_T")

_PROBED = "omnigraph-is-the-store-there"
"""The name of an object that does not exist: every answer to a request for it is one."""
_DEFAULT_TIMEOUT = parse_seconds(STORE_OPTIONS["timeout"])
_NO_ANSWER = {Failure.UNREACHED, Failure.UNAVAILABLE}

_suspects: set[tuple[str, ...]] = set()
"""Stores that were silent, and have not answered since: one is not waited for as long again."""


def run_watched(storage: Storage, call: Callable[[], _T]) -> _T:
    """Return what a call to the store of ``storage`` returns.

    Raise ``TimeoutError`` (``ETIMEDOUT``) if the store is silent.
    """
    if storage.location.is_local:
        return call()
    store = _store_of(storage)
    began = time.monotonic()
    pending = PendingCall(call)
    while not pending.wait(_patience(storage, store)):
        if _answers(storage, store) or pending.wait(0):
            continue
        _suspects.add(store)
        seconds = time.monotonic() - began
        emit("call_abandoned", location=str(storage.location), seconds=round(seconds, 3))
        raise TimeoutError(
            errno.ETIMEDOUT, f"it has not answered for {seconds:.0f} s, neither to a second request"
        )
    result = pending.result()
    _suspects.discard(store)
    return result


def _store_of(storage: Storage) -> tuple[str, ...]:
    options = storage.lance_options
    endpoints = (value for name, value in options.items() if "endpoint" in name)
    return (storage.location.scheme, storage.location.bucket, *endpoints)


def _patience(storage: Storage, store: tuple[str, ...]) -> float:
    """Return how long to wait before the store is asked whether it is there."""
    given = _given_timeout(storage)
    seconds = SILENCE_SECONDS if given is None else given
    if store in _suspects:
        seconds = min(seconds, SUSPECT_SILENCE_SECONDS)
    return wait_seconds(seconds)


def _given_timeout(storage: Storage) -> float | None:
    """Return the time-out of requests that was given as a store option; None for the default."""
    seconds = parse_seconds(storage.lance_options["timeout"])
    return None if seconds == _DEFAULT_TIMEOUT else seconds


def _answers(storage: Storage, store: tuple[str, ...]) -> bool:
    """Return whether the store answers a small request, whatever it says."""
    seconds = SUSPECT_PROBE_SECONDS if store in _suspects else PROBE_SECONDS
    seconds = min(seconds, _given_timeout(storage) or seconds)
    root = attrs.evolve(storage, location=attrs.evolve(storage.location, key=""))
    once = root.with_options(timeout=f"{round(seconds * 1000)}ms", client_max_retries="0")
    try:
        once.object_store().head(_PROBED)
    except store_errors() as error:
        if failure_kind(error) in _NO_ANSWER and "status code" not in str(error):
            return False
    return not storage.location.dynamodb_table or _dynamodb_answers(storage, seconds)


def _dynamodb_answers(storage: Storage, seconds: float) -> bool:
    """Return whether DynamoDB, which decides the versions of ``s3+ddb://``, answers, too."""
    options = storage.lance_options
    if "proxy_url" in options:
        return True  # it need not be reachable from here
    region = options.get("aws_region", "")
    parts = urlsplit(options.get("dynamodb_endpoint", f"https://dynamodb.{region}.amazonaws.com"))
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=seconds)
    try:
        connection.request("GET", "/")
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True
