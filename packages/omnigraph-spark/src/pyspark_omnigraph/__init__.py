"""Where Spark finds the format ``omnigraph`` without registering: it imports ``pyspark_…``."""

import omnigraph_spark._pyspark_check  # noqa: F401  # before anything that imports pyspark

# isort: split

from omnigraph_spark._data_source import OmniGraphDataSource as DefaultSource

__all__ = ["DefaultSource"]
