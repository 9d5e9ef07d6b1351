"""How omnigraph-spark is used, for the type checker."""

from __future__ import annotations

from omnigraph_l2 import OmniGraphError
from omnigraph_spark import OmniGraphSparkError


def as_graph_error(error: OmniGraphSparkError) -> OmniGraphError:
    """An error of the pipeline is an error of the graph."""
    return error
