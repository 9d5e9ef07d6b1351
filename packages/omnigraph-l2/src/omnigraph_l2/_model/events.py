"""Structured events of this package.

Invariant: events are silent unless the application configures structlog or the ``omnigraph_l2``
logger of the standard library. They never contain row data or secrets.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

__all__ = ["emit"]

_NAME = "omnigraph_l2"
_standard = logging.getLogger(_NAME)
_standard.addHandler(logging.NullHandler())


def emit(event: str, **fields: Any) -> None:
    """Report that ``event`` happened."""
    if sys.modules.get("structlog") is not None:  # who configures it has imported it
        import structlog  # noqa: PLC0415

        if structlog.is_configured():
            structlog.get_logger(_NAME).debug(event, **fields)
            return
    if _standard.isEnabledFor(logging.DEBUG):
        _standard.debug("%s %s", event, " ".join(f"{k}={v!r}" for k, v in fields.items()))
