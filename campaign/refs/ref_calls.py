"""The calls of a store of refs, each as one request that rules can meet.

What a caller of refs is told of a fault: a write whose reply does not come, or comes as a server
error, is ``OutcomeUnknown`` with its write id; one that certainly did not reach the store, and a
reading without a good reply, is ``StoreUnavailable``; a conflict is told as such, true or not.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any, TypeVar, cast

import attrs

from omnigraph_l1 import Ref, RefStore, new_ulid
from omnigraph_l1.errors import (
    AccessDenied,
    AlreadyExists,
    BadInput,
    Conflict,
    L1Error,
    NotFound,
    OutcomeUnknown,
    RefChanged,
    RefExists,
    RefNotFound,
    StorageError,
    StoreUnavailable,
)
from omnigraph_testing._faults.s3_statuses import words_of
from omnigraph_testing._faults.store_operation import Operation
from omnigraph_testing._wrappers.call_outcome import Outcome
from omnigraph_testing._wrappers.wrapped_call import Call

__all__ = ["Create", "Delete", "Get", "List", "Replace", "Wrote"]

T = TypeVar("T")

DENIED, ABSENT, CONFLICTS = (401, 403), 404, (409, 412)
SERVER_ERRORS = 500
BROKEN = "the connection broke before the reply came"
STATUSES = ((AlreadyExists, 412), (Conflict, 412), (NotFound, 404), (BadInput, 400))
RACE = (RefExists, RefChanged, RefNotFound)


@attrs.frozen(kw_only=True)
class RefCall(Call[T]):
    """A call of a store of refs. ``location`` is what errors call it."""

    refs: RefStore
    location: str
    operation: Operation

    def status_of(self, error: Exception | None) -> int:
        """Give something like the status that a store would send."""
        if error is None:
            return 200
        return next((status for sort, status in STATUSES if isinstance(error, sort)), 500)

    def unreachable_error(self) -> Exception:
        """Give what is told where nothing listens: it certainly did not happen."""
        return StoreUnavailable(location=self.location, detail="connection refused")

    def reset_error(self) -> Exception:
        """Give what is told where the connection is reset at once: the same."""
        return StoreUnavailable(location=self.location, detail="the connection was refused")

    def lost_reply_error(self) -> Exception:
        """Give what is told where the reply does not come."""
        return self.in_doubt(BROKEN)

    def answer_with(self, status: int, made: Outcome[T] | None) -> Outcome[T]:
        """Give what is told of an error status."""
        detail = f"it answered {status} ({words_of(status)[0]})"
        if status == ABSENT:
            return attrs.evolve(self.absent(detail), status=status)
        error: Exception
        if status in DENIED:
            error = AccessDenied(location=self.location, detail=detail)
        elif status >= SERVER_ERRORS:
            error = self.in_doubt(detail)
        elif status in CONFLICTS:
            error = self.conflict(made) or StorageError(location=self.location, detail=detail)
        else:
            error = StorageError(location=self.location, detail=detail)
        return Outcome(error=error, status=status)

    def is_longer(self, made: Outcome[T], keep: int) -> bool:
        """Never asked: there are no bytes here, and ``FaultyRefs`` refuses such rules."""
        raise NotImplementedError

    def truncate_reply(self, made: Outcome[T], keep: int, *, silent: bool) -> Outcome[T]:
        """Never asked, likewise."""
        raise NotImplementedError

    @abstractmethod
    def in_doubt(self, detail: str) -> L1Error:
        """Give what is told where nobody knows whether it happened."""

    @abstractmethod
    def absent(self, detail: str) -> Outcome[T]:
        """Give what is told where the store says that there is nothing."""

    def conflict(self, made: Outcome[T] | None) -> L1Error | None:  # noqa: ARG002
        """Give what is told where the store says that somebody else was first."""
        return None


class _Reading(RefCall[T]):
    def in_doubt(self, detail: str) -> L1Error:
        return StoreUnavailable(location=self.location, detail=detail)


@attrs.frozen(kw_only=True)
class Get(_Reading["Ref | None"]):
    """Read a ref."""

    @property
    def question(self) -> Hashable:
        """The same ref."""
        return "get", self.operation.key

    def do(self, *, conditions: bool = True, keep: int | None = None) -> Ref | None:  # noqa: ARG002
        """Read."""
        return self.refs.get(self.operation.key)

    def absent(self, detail: str) -> Outcome[Ref | None]:  # noqa: ARG002
        """Give None."""
        return Outcome(value=None)


@attrs.frozen(kw_only=True)
class List(_Reading["tuple[Ref, ...]"]):
    """Read all refs below a prefix."""

    @property
    def question(self) -> Hashable:
        """The same prefix."""
        return "list", self.operation.key

    def do(self, *, conditions: bool = True, keep: int | None = None) -> tuple[Ref, ...]:  # noqa: ARG002
        """Read."""
        return self.refs.list(self.operation.key)

    def absent(self, detail: str) -> Outcome[tuple[Ref, ...]]:  # noqa: ARG002
        """Give no refs."""
        return Outcome(value=())


@attrs.frozen(kw_only=True)
class Wrote(_Reading[bool]):
    """Ask whether a write happened."""

    write_id: str

    def do(self, *, conditions: bool = True, keep: int | None = None) -> bool:  # noqa: ARG002
        """Ask; a store that has no such question raises ``AttributeError``."""
        return bool(cast("Any", self.refs).wrote(self.operation.key, self.write_id))

    def absent(self, detail: str) -> Outcome[bool]:  # noqa: ARG002
        """Give that it did not."""
        return Outcome(value=False)


@attrs.frozen(kw_only=True)
class _Write(RefCall[T]):
    write_id: str

    def in_doubt(self, detail: str) -> L1Error:
        return OutcomeUnknown(location=self.location, write_id=self.write_id, detail=detail)

    def absent(self, detail: str) -> Outcome[T]:  # noqa: ARG002
        return Outcome(error=RefNotFound(location=self.location, name=self.operation.key))

    def conflict(self, made: Outcome[T] | None) -> L1Error | None:
        # An untrue conflict names a write that nobody made; one after the effect names one's own.
        found = new_ulid() if made is None or made.error is not None else self.write_id
        return self.changed(found)

    @abstractmethod
    def changed(self, found: str) -> L1Error:
        """Give what is told where the write of that id stands there."""


@attrs.frozen(kw_only=True)
class Create(_Write[Ref]):
    """Make a ref."""

    value: Mapping[str, Any] = attrs.field(repr=False)

    def do(self, *, conditions: bool = True, keep: int | None = None) -> Ref:  # noqa: ARG002
        """Create; without conditions, whatever stands there."""
        name = self.operation.key
        if conditions:
            return self.refs.create(name, self.value, write_id=self.write_id)
        return put(self.refs, name, self.value, self.write_id)

    def absent(self, detail: str) -> Outcome[Ref]:
        """Give an error: nothing that should be there is missing."""
        return Outcome(error=StorageError(location=self.location, detail=detail))

    def changed(self, found: str) -> L1Error:  # noqa: ARG002
        """Give ``RefExists``."""
        return RefExists(location=self.location, name=self.operation.key)


@attrs.frozen(kw_only=True)
class Replace(_Write[Ref]):
    """Change a ref."""

    ref: Ref
    value: Mapping[str, Any] = attrs.field(repr=False)

    def do(self, *, conditions: bool = True, keep: int | None = None) -> Ref:  # noqa: ARG002
        """Replace; without conditions, whatever stands there."""
        if conditions:
            return self.refs.replace(self.ref, self.value, write_id=self.write_id)
        return put(self.refs, self.ref.name, self.value, self.write_id)

    def changed(self, found: str) -> L1Error:
        """Give ``RefChanged``."""
        return RefChanged(
            location=self.location, name=self.ref.name, expected=self.ref.write_id, found=found
        )


@attrs.frozen(kw_only=True)
class Delete(_Write[None]):
    """Delete a ref. What it is known by is the write that is deleted."""

    ref: Ref

    def do(self, *, conditions: bool = True, keep: int | None = None) -> None:  # noqa: ARG002
        """Delete; without conditions, whatever stands there."""
        if conditions:
            self.refs.delete(self.ref)
        else:
            remove(self.refs, self.ref.name)

    def conflict(self, made: Outcome[None] | None) -> L1Error | None:
        """Give ``RefChanged``, or what is true after the effect."""
        if made is not None and made.error is None:
            return RefNotFound(location=self.location, name=self.ref.name)
        return self.changed(new_ulid())

    def changed(self, found: str) -> L1Error:
        """Give ``RefChanged``."""
        return RefChanged(
            location=self.location, name=self.ref.name, expected=self.ref.write_id, found=found
        )


def put(refs: RefStore, name: str, value: Mapping[str, Any], write_id: str) -> Ref:
    """Write a ref as a store without conditions does: over whatever stands there."""
    while True:
        found = refs.get(name)
        try:
            if found is None:
                return refs.create(name, value, write_id=write_id)
            return refs.replace(found, value, write_id=write_id)
        except RACE:
            continue


def remove(refs: RefStore, name: str) -> None:
    """Delete a ref as a store without conditions does: whatever it is, and if it is there."""
    while (found := refs.get(name)) is not None:
        try:
            refs.delete(found)
        except RACE:
            continue
