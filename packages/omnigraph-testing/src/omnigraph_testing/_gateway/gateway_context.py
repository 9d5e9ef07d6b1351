"""What all requests through one gateway share."""

from __future__ import annotations

from typing import TypeAlias

import attrs

from omnigraph_testing._faults.answer_memory import Remembered
from omnigraph_testing._faults.fault_controls import Scene
from omnigraph_testing._gateway.http_heads import ResponseHead
from omnigraph_testing._gateway.upstream_pool import Upstream
from omnigraph_testing._servers.s3_store import S3Store

__all__ = ["Context"]

Listing: TypeAlias = "tuple[ResponseHead, bytes]"


@attrs.define(eq=False)
class Context(Scene):
    """The store behind the gateway, and what is remembered of it, beside the rules and the log.

    The question to which a listing is the answer is the whole request target.
    """

    store: S3Store
    upstream: Upstream
    listings: Remembered[Listing] = attrs.field(factory=Remembered)
    failures: list[BaseException] = attrs.field(factory=list)
