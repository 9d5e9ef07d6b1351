"""What all requests through one gateway share."""

from __future__ import annotations

import attrs

from omnigraph_testing._faults._engine import Faults
from omnigraph_testing._faults._log import RequestLog
from omnigraph_testing._gateway._messages import ResponseHead
from omnigraph_testing._gateway._upstream import Upstream
from omnigraph_testing._servers._store import S3Store

__all__ = ["Context", "Listings"]

REMEMBERED_LISTINGS = 500


class Listings:
    """The last true reply to each listing, the question being the whole request target."""

    def __init__(self) -> None:
        self._replies: dict[str, tuple[ResponseHead, bytes]] = {}

    def remember(self, target: str, head: ResponseHead, wire: bytes) -> None:
        """Keep a reply; the one that was kept longest makes room if there are many."""
        self._replies.pop(target, None)
        self._replies[target] = head, wire
        if len(self._replies) > REMEMBERED_LISTINGS:
            del self._replies[next(iter(self._replies))]

    def recall(self, target: str) -> tuple[ResponseHead, bytes] | None:
        """Return the reply that was kept, or None."""
        return self._replies.get(target)


@attrs.define(eq=False)
class Context:
    """The store behind the gateway, the rules, the log, and what is remembered."""

    store: S3Store
    upstream: Upstream
    faults: Faults = attrs.field(factory=Faults)
    log: RequestLog = attrs.field(factory=RequestLog)
    listings: Listings = attrs.field(factory=Listings)
    latency: float = 0.0
    failures: list[BaseException] = attrs.field(factory=list)
