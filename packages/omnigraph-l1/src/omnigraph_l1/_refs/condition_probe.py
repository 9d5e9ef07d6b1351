"""A test whether a store honours conditional writes, before anything depends on it.

Invariant: one object under a fresh name that no other process touches, a handful of requests, and
the object removed at the end; any number of processes may probe at once. A store that passes can
still be wrong about two requests at the same instant: that cannot be found out by asking.
"""

from __future__ import annotations

import contextlib
from typing import Protocol

from omnigraph_l1._refs.ref_backend import ConditionFailed, ReplyLost, Stored
from omnigraph_l1._text_encoding import new_ulid
from omnigraph_l1.errors import StorageError, UnsafeStore

__all__ = ["PROBES", "probe_conditions"]

PROBES = ".probe"
"""The prefix below which probes are made. A killed one leaves its object; tidying removes it."""


class _Probed(Protocol):
    @property
    def location(self) -> str: ...
    def read(self, file_name: str) -> Stored | None: ...
    def write(self, file_name: str, data: bytes, expected: str | None) -> str: ...
    def erase(self, file_name: str) -> None: ...


def probe_conditions(backend: _Probed) -> None:
    """Raise ``UnsafeStore`` if a write is carried out although its condition does not hold."""
    name = f"{PROBES}/{new_ulid()}"
    try:
        first = _must_write(backend, name, b"first", None)
        _must_refuse(backend, name, None, "If-None-Match: *")
        _must_write(backend, name, b"second", first)
        _must_refuse(backend, name, first, "If-Match with a tag that is no longer current")
        found = backend.read(name)
        if found is None or found.data != b"second":
            raise _unsafe(backend, "it does not give back what was written last")
    finally:
        with contextlib.suppress(StorageError):
            backend.erase(name)


def _must_write(backend: _Probed, name: str, data: bytes, expected: str | None) -> str:
    try:
        return backend.write(name, data, expected)
    except ConditionFailed as refusal:
        detail = "it refuses a conditional write whose condition holds"
        raise _unsafe(backend, detail) from refusal
    except ReplyLost as lost:
        raise lost.cause from lost


def _must_refuse(backend: _Probed, name: str, expected: str | None, condition: str) -> None:
    try:
        backend.write(name, b"refused", expected)
    except ConditionFailed:
        return
    except ReplyLost as lost:
        raise lost.cause from lost
    raise _unsafe(backend, f"it ignores {condition} on PUT")


def _unsafe(backend: _Probed, detail: str) -> UnsafeStore:
    return UnsafeStore(location=backend.location, detail=detail)
