"""Reading the graph as it was at one moment."""

from omnigraph_l2._snapshots.sharing import Fragment, ReadTarget
from omnigraph_l2._snapshots.snapshot import (
    Snapshot,
    beginning,
    hold_of,
    place_of,
    state_of,
    table_of,
)

__all__ = [
    "Fragment",
    "ReadTarget",
    "Snapshot",
    "beginning",
    "hold_of",
    "place_of",
    "state_of",
    "table_of",
]
