"""How much a piece of code may ask of a store: checked when its block ends."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from omnigraph_testing._faults import field_validators as checks
from omnigraph_testing._faults.request_log import Request, longest_chain
from omnigraph_testing.errors import BudgetExceeded

__all__ = ["Budget"]

_optional = attrs.validators.optional(checks.at_least(0))


@attrs.frozen(kw_only=True)
class Budget:
    """Upper bounds; None means that it is not looked at."""

    max_requests: int | None = attrs.field(default=None, validator=_optional)
    max_sequential: int | None = attrs.field(default=None, validator=_optional)
    max_bytes: int | None = attrs.field(default=None, validator=_optional)

    def check(self, requests: Sequence[Request]) -> None:
        """Raise ``BudgetExceeded`` with the requests if they are more than was allowed."""
        used = {
            "requests": (self.max_requests, len(requests)),
            "sequential requests": (self.max_sequential, len(longest_chain(requests))),
            "bytes": (self.max_bytes, sum(each.bytes_in + each.bytes_out for each in requests)),
        }
        over = tuple(
            f"{found} {what} where {allowed} were allowed"
            for what, (allowed, found) in used.items()
            if allowed is not None and found > allowed
        )
        if over:
            raise BudgetExceeded(over=over, requests=tuple(str(each) for each in requests))
