"""Where Spark finds the format ``omnigraph`` without registering: it imports ``pyspark_…``."""

from omnigraph_spark._data_source import OmniGraphDataSource as DefaultSource

__all__ = ["DefaultSource"]
