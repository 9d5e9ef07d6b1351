"""Every error that leaves omnigraph_l2. One base; a stable ``kind`` for each."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["OmniGraphError"]


class OmniGraphError(Exception):
    """Base of every error that omnigraph_l2 raises."""

    kind: ClassVar[str] = "omnigraph_error"
