"""One call of a store as those who carry out rules see it: what it does, and how its faults look.

Invariant: a call can be done several times, and in any thread. What it raises is what the store
would raise, to the class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Generic, TypeVar

from omnigraph_testing._faults.fault_effects import (
    Effect,
    StaleListing,
    TruncateRequest,
    can_act_on,
)
from omnigraph_testing._faults.store_operation import Operation
from omnigraph_testing._wrappers.call_outcome import Outcome

__all__ = ["Call"]

T = TypeVar("T")


class Call(ABC, Generic[T]):
    """A request that can be made."""

    operation: Operation

    @property
    def question(self) -> Hashable | None:
        """What it asks, if its answer may be stale; else None."""
        return None

    def can_meet(self, effect: Effect, operation: Operation) -> bool:
        """Return whether the effect could act on it, as far as is known before."""
        if isinstance(effect, StaleListing):
            return self.question is not None
        if isinstance(effect, TruncateRequest):
            return self.is_torn_by(effect.keep)
        return can_act_on(effect, operation)

    def is_torn_by(self, keep: int) -> bool:
        """Return whether the store gets an incomplete request with so many bytes of its body."""
        return keep < (self.operation.size or 0)

    def size_of(self, value: T) -> int:  # noqa: ARG002 - most replies carry no data
        """Count the bytes of the body that comes from the store."""
        return 0

    @abstractmethod
    def do(self, *, conditions: bool = True, keep: int | None = None) -> T:
        """Call the store; without conditions, or with the first ``keep`` bytes of the body."""

    @abstractmethod
    def status_of(self, error: Exception | None) -> int:
        """Return the status that the store would send with this error, or with success."""

    @abstractmethod
    def unreachable_error(self) -> Exception:
        """Return the error if no connection is made."""

    @abstractmethod
    def reset_error(self) -> Exception:
        """Return the error if the connection is reset before the request is read."""

    @abstractmethod
    def lost_reply_error(self) -> Exception:
        """Return the error if the reply does not come; the request may have had its effect."""

    @abstractmethod
    def answer_with(self, status: int, made: Outcome[T] | None) -> Outcome[T]:
        """Return what the caller gets for an error status; ``made`` if it had its effect."""

    @abstractmethod
    def is_longer(self, made: Outcome[T], keep: int) -> bool:
        """Return whether the body of the reply has more than ``keep`` bytes."""

    @abstractmethod
    def truncate_reply(self, made: Outcome[T], keep: int, *, silent: bool) -> Outcome[T]:
        """Return what the caller gets of a longer reply whose body ends after ``keep`` bytes."""

    def make(self, *, conditions: bool = True, keep: int | None = None) -> Outcome[T]:
        """Make the request, and return its outcome."""
        try:
            value = self.do(conditions=conditions, keep=keep)
        except Exception as error:  # noqa: BLE001 - whatever the store raises is its answer
            return Outcome(error=error, status=self.status_of(error))
        return Outcome(value=value, status=self.status_of(None))
