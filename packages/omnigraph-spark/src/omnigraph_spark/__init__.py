"""An OmniGraph repository in Apache Spark. The data source comes with a later release."""

from omnigraph_spark.errors import OmniGraphSparkError

__all__ = ["OmniGraphSparkError"]
