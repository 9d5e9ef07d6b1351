"""Where Spark finds the format ``omnigraph`` without registering: it imports ``pyspark_…``."""

from omnigraph_spark._source.datasource import OmniGraphDataSource as DefaultSource

__all__ = ["DefaultSource"]
