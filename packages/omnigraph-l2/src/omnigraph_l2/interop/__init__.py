"""Snapshots in the tools that people use: DuckDB, networkx, rustworkx."""

from omnigraph_l2.interop.tool_views import (
    IndexedGraph,
    duckdb_views,
    to_networkx,
    to_rustworkx,
    view_names,
)

__all__ = ["IndexedGraph", "duckdb_views", "to_networkx", "to_rustworkx", "view_names"]
