"""What was asked of a store, one record for each request, and what it cost in round trips.

Times are those of one monotonic clock, in seconds. What a request is made of on the wire is not its
business.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

import attrs

from omnigraph_testing._faults.store_operation import Operation

__all__ = ["Request", "RequestLog", "longest_chain"]


@attrs.frozen
class Request:
    """One request: what was asked, what came of it, and what was done to it.

    ``status`` is what the client got, None if it got no reply. ``store_status`` is what the store
    said, None if it was never asked. Bytes are those of bodies.
    """

    number: int
    operation: Operation
    status: int | None = attrs.field(kw_only=True, default=None)
    store_status: int | None = attrs.field(kw_only=True, default=None)
    bytes_in: int = attrs.field(kw_only=True, default=0)
    bytes_out: int = attrs.field(kw_only=True, default=0)
    faults: tuple[str, ...] = attrs.field(kw_only=True, default=())
    connection: int = attrs.field(kw_only=True, default=0)
    started: float = attrs.field(kw_only=True)
    ended: float | None = attrs.field(kw_only=True, default=None)

    @property
    def method(self) -> str:
        """What was asked: ``GET``, ``PUT``, ``LIST`` and so on; see ``Operation``."""
        return self.operation.method

    @property
    def key(self) -> str:
        """The key, from the store's prefix on."""
        return self.operation.key

    @property
    def fault(self) -> str | None:
        """The effects that met the request, or None."""
        return " + ".join(self.faults) or None

    @property
    def seconds(self) -> float | None:
        """How long it took, or None while it is under way."""
        return None if self.ended is None else self.ended - self.started

    def __str__(self) -> str:
        status = "no reply" if self.status is None else self.status
        took = "under way" if self.seconds is None else f"{self.seconds * 1000:.1f} ms"
        fault = f" [{self.fault}]" if self.fault else ""
        if self.store_status != self.status:
            fault += f" (the store said {self.store_status})" if self.store_status else ""
        condition = f" ({self.operation.condition})" if self.operation.condition else ""
        return (
            f"#{self.number} {self.operation}{condition}: {status}, "
            f"{self.bytes_in} B in, {self.bytes_out} B out, {took}{fault}"
        )


class RequestLog:
    """The requests so far, in the order in which they came. Safe between threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._requests: list[Request] = []
        self._under_way = 0
        self._next = 1

    def begin(self, operation: Operation, *, connection: int, now: float) -> Request:
        """Take note of a request that came in."""
        with self._changed:
            request = Request(self._next, operation, connection=connection, started=now)
            self._next += 1
            self._under_way += 1
            self._requests.append(request)
            return request

    def end(self, request: Request) -> None:
        """Replace the record of a request by what is known at its end."""
        with self._changed:
            self._under_way -= 1
            first = self._requests[0].number if self._requests else request.number + 1
            if request.number >= first:
                self._requests[request.number - first] = request
            self._changed.notify_all()

    def all(self) -> tuple[Request, ...]:
        """Return all records."""
        with self._changed:
            return tuple(self._requests)

    def since(self, number: int) -> tuple[Request, ...]:
        """Return the records after the one of that number."""
        with self._changed:
            return tuple(each for each in self._requests if each.number > number)

    @property
    def last_number(self) -> int:
        """The number of the newest request, 0 before the first."""
        with self._changed:
            return self._next - 1

    def clear(self) -> None:
        """Forget all records; numbers go on."""
        with self._changed:
            self._requests.clear()

    def wait_until_idle(self, timeout: float) -> bool:
        """Wait until no request is under way; return whether that happened in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._under_way == 0, timeout)


def longest_chain(requests: Iterable[Request]) -> tuple[Request, ...]:
    """Return a longest sequence of requests each of which began after the one before had ended.

    Its length is the number of round trips that were made one after another. One that is under way
    ends last.
    """
    chain: list[Request] = []
    for request in sorted(requests, key=_end):
        if not chain or request.started >= _end(chain[-1]):
            chain.append(request)
    return tuple(chain)


def _end(request: Request) -> float:
    return float("inf") if request.ended is None else request.ended
