"""An OmniGraph repository in Apache Spark. Its errors are in ``omnigraph_spark.errors``."""

from omnigraph_spark._errors.carrying import cause_of
from omnigraph_spark._graph import Graph, read_graph
from omnigraph_spark._session import register, session
from omnigraph_spark._streaming.batches import each_batch
from omnigraph_spark._writing.transaction import SparkTransaction, transaction
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
