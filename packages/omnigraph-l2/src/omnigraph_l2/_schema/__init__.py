"""What a graph consists of: its node and edge types, and the columns of their tables."""

from omnigraph_l2._schema.types import (
    EdgeType,
    GraphSchema,
    NodeType,
    refuse_unstorable,
    storing_problems,
)

__all__ = ["EdgeType", "GraphSchema", "NodeType", "refuse_unstorable", "storing_problems"]
