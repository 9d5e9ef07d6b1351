"""The base of all errors of this package."""

from __future__ import annotations

from typing import ClassVar

from omnigraph_l2 import OmniGraphError

__all__ = ["OmniGraphSparkError"]


class OmniGraphSparkError(OmniGraphError):
    """Base of every error that omnigraph_spark itself raises."""

    kind: ClassVar[str] = "omnigraph_spark_error"
