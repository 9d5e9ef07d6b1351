"""What can happen to a request, as values. Who carries them out is not their business.

There are two sorts. A *modifier* changes how a request passes, and several can meet in one
request. A *verdict* decides what becomes of it, and each request gets at most one.
"""

from __future__ import annotations

from typing import ClassVar

import attrs

from omnigraph_testing._faults import field_validators as checks
from omnigraph_testing._faults.held_requests import Held
from omnigraph_testing._faults.store_operation import Operation

__all__ = [
    "Answer",
    "Bandwidth",
    "CutReply",
    "CutRequest",
    "Delay",
    "Effect",
    "Hold",
    "IgnoreConditions",
    "Refuse",
    "StaleListing",
    "TruncateReply",
    "TruncateRequest",
    "Twice",
    "can_act_on",
]


@attrs.frozen
class Effect:
    """Base of all effects."""

    is_verdict: ClassVar[bool] = True


@attrs.frozen
class Delay(Effect):
    """Wait: ``before`` the store sees the request, or ``after`` it, before the reply.

    A request whose client has given up still has its effect, later.
    """

    is_verdict: ClassVar[bool] = False
    seconds: float = attrs.field(validator=checks.at_least(0))
    at: str = attrs.field(
        kw_only=True, default="before", validator=checks.one_of("before", "after")
    )


@attrs.frozen
class Bandwidth(Effect):
    """Let bodies pass at this pace, in both directions."""

    is_verdict: ClassVar[bool] = False
    bytes_per_second: float = attrs.field(validator=checks.more_than(0))


@attrs.frozen
class Hold(Effect):
    """Keep the request until ``held`` is released: ``before`` or ``after`` its effect.

    With ``cut`` the client loses its connection at once, and the request takes effect on release:
    the PUT that lands long after its client gave it up.
    """

    is_verdict: ClassVar[bool] = False
    held: Held
    at: str = attrs.field(
        kw_only=True, default="before", validator=checks.one_of("before", "after")
    )
    cut: bool = attrs.field(kw_only=True, default=False)


@attrs.frozen
class IgnoreConditions(Effect):
    """Do the request without its If-Match and If-None-Match, as a store that has no such thing."""

    is_verdict: ClassVar[bool] = False


@attrs.frozen
class Refuse(Effect):
    """Reset the connection at once: the request is not read, and the store never sees it."""


@attrs.frozen
class CutRequest(Effect):
    """Take the whole request, then cut the connection: it has no effect, and no reply.

    ``by`` says how: a ``reset``, or an orderly ``close``, which some clients take for less.
    """

    by: str = attrs.field(kw_only=True, default="reset", validator=checks.one_of("reset", "close"))


@attrs.frozen
class CutReply(Effect):
    """Let the request have its effect, then cut the connection instead of replying.

    ``by`` says how: a ``reset``, or an orderly ``close``, which some clients take for less.
    """

    by: str = attrs.field(kw_only=True, default="reset", validator=checks.one_of("reset", "close"))


@attrs.frozen
class Answer(Effect):
    """Reply with this error status. With ``applied`` the request has had its effect all the same.

    An untrue 412 is ``Answer(412)``: the condition held, or there was none.
    """

    status: int = attrs.field(validator=checks.within(400, 599))
    applied: bool = attrs.field(kw_only=True, default=False)


@attrs.frozen
class Twice(Effect):
    """Send the request to the store twice; the client gets the ``first`` or ``second`` reply."""

    reply: str = attrs.field(default="first", validator=checks.one_of("first", "second"))


@attrs.frozen
class TruncateRequest(Effect):
    """Pass on the first ``keep`` bytes of the request's body, then cut both connections.

    A body of no more than ``keep`` bytes passes whole, and its reply, too: nothing has fired.
    ``silent`` makes lengths, digests and signature fit what is left: the store takes a torn body
    for the whole, and the client hears of success.
    """

    keep: int = attrs.field(validator=checks.at_least(0))
    silent: bool = attrs.field(kw_only=True, default=False)


@attrs.frozen
class TruncateReply(Effect):
    """Pass on the first ``keep`` bytes of the reply's body, then cut the connection.

    A body of no more than ``keep`` bytes passes whole: nothing has fired.
    ``silent`` makes the announced length fit what is left.
    """

    keep: int = attrs.field(validator=checks.at_least(0))
    silent: bool = attrs.field(kw_only=True, default=False)


@attrs.frozen
class StaleListing(Effect):
    """Answer a listing with what the same listing said before the rule was there.

    Where that was never asked, the true listing passes and is what will be said from then on.
    """


def can_act_on(effect: Effect, operation: Operation) -> bool:
    """Return whether the effect could act on such a request, as far as the request shows."""
    if isinstance(effect, StaleListing):
        return operation.method == "LIST"
    if isinstance(effect, IgnoreConditions):
        return operation.condition is not None
    if isinstance(effect, TruncateRequest):
        return operation.size is None or operation.size > effect.keep
    return True
