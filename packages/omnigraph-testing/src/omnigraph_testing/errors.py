"""Every error that leaves omnigraph_testing. One base; a stable ``kind`` for each."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["OmniGraphTestingError"]


class OmniGraphTestingError(Exception):
    """Base of every error that omnigraph_testing raises."""

    kind: ClassVar[str] = "omnigraph_testing_error"
