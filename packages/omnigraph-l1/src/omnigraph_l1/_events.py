"""Structured events: what was opened, committed, retried, and how long it took.

Invariant: quiet unless the application configures structlog or the ``omnigraph_l1`` logger of the
standard library; never row data, never secrets.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["emit", "time_event"]

_NAME = "omnigraph_l1"
_standard = logging.getLogger(_NAME)
_standard.addHandler(logging.NullHandler())


def emit(event: str, **fields: Any) -> None:
    """Log that ``event`` happened."""
    # Who configures structlog has imported it. Importing it takes a tenth of the time of starting.
    if sys.modules.get("structlog") is not None:
        import structlog  # noqa: PLC0415

        if structlog.is_configured():
            structlog.get_logger(_NAME).debug(event, **fields)
            return
    if _standard.isEnabledFor(logging.DEBUG):
        _standard.debug("%s %s", event, " ".join(f"{k}={v!r}" for k, v in fields.items()))


@contextmanager
def time_event(event: str, **fields: Any) -> Iterator[dict[str, Any]]:
    """Log that ``event`` happened when the block is left, with its seconds and its error.

    The block may add fields to the dictionary that it is given.
    """
    started = time.perf_counter()
    try:
        yield fields
    except BaseException as error:
        fields["error"] = getattr(error, "kind", type(error).__name__)
        raise
    finally:
        emit(event, **fields, seconds=round(time.perf_counter() - started, 6))
