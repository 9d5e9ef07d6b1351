"""How omnigraph-spark is used, for the type checker."""

from __future__ import annotations

from pyspark.sql import SparkSession

import omnigraph_spark
from omnigraph_l2 import OmniGraphError
from omnigraph_spark import OmniGraphSparkError


def as_graph_error(error: OmniGraphSparkError) -> OmniGraphError:
    """An error of the pipeline is an error of the graph."""
    return error


def sessions(theirs: SparkSession) -> SparkSession:
    """A session of one's own, or the format in a session of others."""
    omnigraph_spark.register(theirs)
    return omnigraph_spark.session("mine", "local[2]", {"spark.ui.enabled": False})
