"""Reading the graph as it was at one moment."""

from omnigraph_l2._snapshots.snapshot import Snapshot, hold_of, state_of

__all__ = ["Snapshot", "hold_of", "state_of"]
