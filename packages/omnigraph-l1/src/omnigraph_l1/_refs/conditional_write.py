"""One conditional write: attempts, lost replies, and what is found of the write afterwards.

Each write is one attempt of a backend, and carries a fresh write id.

* Done: done.
* Refused: what stands there now is read. If it is one's own document (something on the way
  delivered the request twice), or remembers one's own among its ``earlier_writes``, the write
  happened. If it remembers the write that one went on from, and not one's own, then it did not
  happen and never will: another writer was first.
* Reply lost: the same; and where the ref is still what one went on from, the same bytes are sent
  again. Only one of the two can land, because both name the same predecessor.
* What cannot be decided so, within the attempts and the time, is ``OutcomeUnknown``.

Not here: how a backend writes, and which error a lost race is.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

import attrs

from omnigraph_l1._events import emit
from omnigraph_l1._refs.ref_backend import ConditionFailed, LockTimeout, ReplyLost
from omnigraph_l1._refs.ref_document import REMEMBERED, Document
from omnigraph_l1.deadlines import RetryPolicy
from omnigraph_l1.errors import CorruptRef, OutcomeUnknown, StorageError, StoreUnavailable

__all__ = ["LostRace", "WriteTrace", "Written", "find_write", "write_conditionally"]


@attrs.frozen
class Written:
    """The write happened. ``token`` is empty if another writer has replaced it already."""

    token: str


@attrs.frozen
class LostRace:
    """Another writer was first. ``found`` is the document now; None if there is none."""

    found: Document | None


class WriteTrace(Enum):
    """What a document says of a write."""

    HAPPENED = auto()
    NEVER = auto()
    OPEN = auto()
    """What the write goes on from still stands there: it may yet land."""
    UNKNOWN = auto()


def find_write(found: Document | None, write_id: str, before: Document | None) -> WriteTrace:
    """Look for a write, and for what it went on from (None for nothing), in what stands there."""
    if found is None:
        return WriteTrace.OPEN if before is None else WriteTrace.UNKNOWN
    if write_id in found.writes:
        return WriteTrace.HAPPENED
    if before is not None and found.token == before.token:
        return WriteTrace.OPEN
    if before is None:
        reaches_back = found.is_ours and len(found.earlier_writes) < REMEMBERED
    else:
        reaches_back = before.write_id in found.writes
    return WriteTrace.NEVER if reaches_back else WriteTrace.UNKNOWN


def write_conditionally(
    write: Callable[[], str],
    look: Callable[[], Document | None],
    *,
    location: str,
    write_id: str,
    before: Document | None,
    policy: RetryPolicy,
) -> Written | LostRace:
    """Carry out one write and determine its outcome.

    ``write`` is one attempt, ``look`` reads what stands there, ``before`` is what it goes on from.
    """
    settling = _WriteAttempts(location=location, write_id=write_id, before=before)
    for attempt in policy.tries():
        is_last = attempt.is_last
        tried = settling.attempt(write, is_last=is_last)
        if isinstance(tried, Written):
            return tried
        if tried is _Tried.SENT:
            outcome = settling.decide_by_document(look, is_last=is_last)
            if outcome is not None:
                return outcome
    raise AssertionError


class _Tried(Enum):
    SENT = auto()
    NOT_SENT = auto()


@attrs.define(kw_only=True)
class _WriteAttempts:
    location: str
    write_id: str
    before: Document | None
    doubt: StorageError | None = None
    """How the reply was lost to an attempt that may have happened."""

    def attempt(self, write: Callable[[], str], *, is_last: bool) -> Written | _Tried:
        try:
            return Written(write())
        except ConditionFailed:
            return _Tried.SENT
        except ReplyLost as lost:
            self.doubt = lost.cause
            if not lost.look:
                raise self._unknown_outcome(lost.cause) from lost.cause
            return _Tried.SENT
        except LockTimeout as late:
            if self.doubt is None:
                raise late.cause from late.cause.__cause__
            raise self._unknown_outcome(self.doubt) from late.cause
        except StorageError as error:
            if isinstance(error, StoreUnavailable) and not is_last:
                return _Tried.NOT_SENT
            if self.doubt is None:
                raise
            raise self._unknown_outcome(self.doubt) from error

    def decide_by_document(
        self, look: Callable[[], Document | None], *, is_last: bool
    ) -> Written | LostRace | None:
        """Decide by what stands there; None if the write is to be tried again."""
        try:
            found = look()
        except StorageError as error:
            raise self._unknown_outcome(self.doubt or error) from error
        except CorruptRef as error:
            if self.doubt is None:
                raise
            raise self._unknown_outcome(self.doubt) from error
        meaning = find_write(found, self.write_id, self.before)
        emit("refs.looked_back", location=self.location, write_id=self.write_id, found=meaning.name)
        if meaning is WriteTrace.HAPPENED and found is not None:
            return Written(found.token if found.write_id == self.write_id else "")
        if meaning is WriteTrace.NEVER or (meaning is WriteTrace.UNKNOWN and self.doubt is None):
            return LostRace(found)
        if meaning is WriteTrace.OPEN and not is_last:
            return None
        if self.doubt is not None:
            raise self._unknown_outcome(self.doubt) from self.doubt
        detail = "the store refuses a conditional write whose condition holds"
        raise StorageError(location=self.location, detail=detail)

    def _unknown_outcome(self, why: StorageError) -> OutcomeUnknown:
        return OutcomeUnknown(location=self.location, write_id=self.write_id, detail=why.detail)
