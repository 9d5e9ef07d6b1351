"""The public names of the package, which need pyspark."""

import omnigraph_spark._pyspark_check  # noqa: F401  # before anything that imports pyspark

# isort: split

from omnigraph_spark._convert.error_transport import cause_of
from omnigraph_spark._graph.graph_frames import Graph, read_graph
from omnigraph_spark._session.spark_session import register, session
from omnigraph_spark._streaming.foreach_batch import each_batch
from omnigraph_spark._write.spark_transaction import SparkTransaction, transaction
from omnigraph_spark.errors import OmniGraphSparkError

__all__ = [
    "Graph",
    "OmniGraphSparkError",
    "SparkTransaction",
    "cause_of",
    "each_batch",
    "read_graph",
    "register",
    "session",
    "transaction",
]
