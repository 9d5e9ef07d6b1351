"""A whole graph in Spark, and algorithms on it."""

from omnigraph_spark._graph.reading import Graph, read_graph

__all__ = ["Graph", "read_graph"]
