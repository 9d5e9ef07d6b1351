"""What can be done after two commits met. Pure data, a leaf of the package."""

from __future__ import annotations

from enum import Enum

__all__ = ["Resolution"]


class Resolution(Enum):
    """How a commit fares when another commit came first."""

    COMPATIBLE = "compatible"
    """Both stand as they are."""
    REBASABLE = "rebasable"
    """Lance puts the later one on top of the earlier one."""
    RETRYABLE = "retryable"
    """Refused, but the same change, computed again on the new version, can succeed."""
    INCOMPATIBLE = "incompatible"
    """Refused, and computing it again from the same intent makes no sense."""

    @property
    def advice(self) -> str:
        """Say in one sentence what a caller does about it."""
        return _ADVICE[self]


_ADVICE = {
    Resolution.COMPATIBLE: "Nothing needs to be done.",
    Resolution.REBASABLE: "Nothing needs to be done: Lance combines the two.",
    Resolution.RETRYABLE: "Refresh the handle, compute the change again and commit it.",
    Resolution.INCOMPATIBLE: "Refresh the handle and decide whether the change is still wanted.",
}
