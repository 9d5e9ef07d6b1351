"""Who may still need what: leases, and what a process holds on to under its lease."""

from omnigraph_l2._leases.hold import Hold
from omnigraph_l2._leases.leases import Leases

__all__ = ["Hold", "Leases"]
