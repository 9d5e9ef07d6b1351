"""Settling one write: attempts, lost replies, and what is found of the write afterwards.

Each write is one attempt of a backend, and carries a fresh write id.

* Done: done.
* Refused: what stands there now is read. If it is one's own document (something on the way
  delivered the request twice), or remembers one's own among its ``earlier_writes``, the write
  happened. If it remembers the write that one went on from, and not one's own, then it did not
  happen and never will: somebody else was first.
* Reply lost: the same; and where the ref is still what one went on from, the same bytes are sent
  again. Only one of the two can land, because both name the same predecessor.
* What cannot be decided so, within the attempts and the time, is ``OutcomeUnknown``.

Not here: how a backend writes, and which error a lost race is.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from enum import Enum, auto

import attrs

from omnigraph_l1._events import emit
from omnigraph_l1._refs.backend import Mismatch, Unsettled
from omnigraph_l1._refs.document import REMEMBERED, Document
from omnigraph_l1.errors import CorruptRef, OutcomeUnknown, StorageError, StoreUnavailable

__all__ = ["Lost", "Patience", "Trace", "Written", "settle", "trace"]

_FIRST_PAUSE = 0.1


@attrs.frozen
class Patience:
    """How often, and for how long, a write is tried again."""

    attempts: int = 4
    seconds: float = 10.0


@attrs.frozen
class Written:
    """The write happened. ``token`` is empty where somebody has gone on from it already."""

    token: str


@attrs.frozen
class Lost:
    """Somebody else was first. ``found`` is what stands there now; None where nothing does."""

    found: Document | None


class Trace(Enum):
    """What a document says of a write."""

    HAPPENED = auto()
    NEVER = auto()
    OPEN = auto()
    """What the write goes on from still stands there: it may yet land."""
    UNKNOWN = auto()


def trace(found: Document | None, write_id: str, before: Document | None) -> Trace:
    """Look for a write, and for what it went on from (None for nothing), in what stands there."""
    if found is None:
        return Trace.OPEN if before is None else Trace.UNKNOWN
    if write_id in found.writes:
        return Trace.HAPPENED
    if before is not None and found.token == before.token:
        return Trace.OPEN
    if before is None:
        reaches_back = found.is_ours and len(found.earlier_writes) < REMEMBERED
    else:
        reaches_back = before.write_id in found.writes
    return Trace.NEVER if reaches_back else Trace.UNKNOWN


def settle(
    write: Callable[[], str],
    look: Callable[[], Document | None],
    *,
    place: str,
    write_id: str,
    before: Document | None,
    patience: Patience,
) -> Written | Lost:
    """Carry out one write and find out what became of it.

    ``write`` is one attempt, ``look`` reads what stands there, ``before`` is what it goes on from.
    """
    settling = _Settling(place=place, write_id=write_id, before=before)
    deadline = time.monotonic() + patience.seconds
    for attempt in itertools.count(1):
        is_last = attempt >= patience.attempts or time.monotonic() > deadline
        tried = settling.attempt(write, is_last=is_last)
        if isinstance(tried, Written):
            return tried
        if tried is _Tried.SENT:
            outcome = settling.look_back(look, is_last=is_last)
            if outcome is not None:
                return outcome
        longest = _FIRST_PAUSE * 2 ** (attempt - 1)
        time.sleep(random.uniform(longest / 2, longest))  # noqa: S311 - only to spread clients
    raise AssertionError


class _Tried(Enum):
    SENT = auto()
    NOT_SENT = auto()


@attrs.define(kw_only=True)
class _Settling:
    place: str
    write_id: str
    before: Document | None
    doubt: StorageError | None = None
    """How the reply was lost to an attempt that may have happened."""

    def attempt(self, write: Callable[[], str], *, is_last: bool) -> Written | _Tried:
        try:
            return Written(write())
        except Mismatch:
            return _Tried.SENT
        except Unsettled as lost:
            self.doubt = lost.cause
            if not lost.look:
                raise self._unknown(lost.cause) from lost.cause
            return _Tried.SENT
        except StoreUnavailable as error:
            if not is_last:
                return _Tried.NOT_SENT
            if self.doubt is None:
                raise
            raise self._unknown(self.doubt) from error
        except StorageError as error:
            if self.doubt is None:
                raise
            raise self._unknown(self.doubt) from error

    def look_back(
        self, look: Callable[[], Document | None], *, is_last: bool
    ) -> Written | Lost | None:
        """Decide by what stands there; None where the write is to be tried again."""
        try:
            found = look()
        except StorageError as error:
            raise self._unknown(self.doubt or error) from error
        except CorruptRef as error:
            if self.doubt is None:
                raise
            raise self._unknown(self.doubt) from error
        meaning = trace(found, self.write_id, self.before)
        emit("refs.looked_back", place=self.place, write_id=self.write_id, found=meaning.name)
        if meaning is Trace.HAPPENED and found is not None:
            return Written(found.token if found.write_id == self.write_id else "")
        if meaning is Trace.NEVER or (meaning is Trace.UNKNOWN and self.doubt is None):
            return Lost(found)
        if meaning is Trace.OPEN and not is_last:
            return None
        if self.doubt is not None:
            raise self._unknown(self.doubt) from self.doubt
        detail = "the store refuses a conditional write whose condition holds"
        raise StorageError(place=self.place, detail=detail)

    def _unknown(self, why: StorageError) -> OutcomeUnknown:
        return OutcomeUnknown(place=self.place, write_id=self.write_id, detail=why.detail)
