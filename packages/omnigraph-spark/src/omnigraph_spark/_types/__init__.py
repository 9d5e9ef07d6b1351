"""Types and values of a graph, and those that Spark has for them."""

from omnigraph_spark._types.casting import cast_batch
from omnigraph_spark._types.mapping import arrow_schema, spark_schema, written_schema

__all__ = ["arrow_schema", "cast_batch", "spark_schema", "written_schema"]
