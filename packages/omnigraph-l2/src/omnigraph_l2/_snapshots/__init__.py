"""Reading the graph as it was at one moment."""

from omnigraph_l2._snapshots.snapshot import Snapshot, state_of

__all__ = ["Snapshot", "state_of"]
