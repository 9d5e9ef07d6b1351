"""A call that was seen before it happened, and what it turns into once its result is known."""

from __future__ import annotations

import os
from collections.abc import Callable

import attrs

from campaign.tracing.file_operations import Operation

__all__ = ["Begun"]


@attrs.frozen
class Begun:
    """What kind of operation is about to happen to which path.

    ``finish`` is given the result of a call that succeeded. ``handle`` is a descriptor of the
    tracer's own that is closed when the call is over, whatever came of it.
    """

    kind: str
    path: str = attrs.field(kw_only=True)
    finish: Callable[[int], list[Operation]] = attrs.field(kw_only=True)
    handle: int | None = attrs.field(kw_only=True, default=None)

    def close(self) -> None:
        """Let go of the file that was held."""
        if self.handle is not None:
            os.close(self.handle)
