"""Reading in tests: a table by the format, with options."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from omnigraph_l2 import Repository
from omnigraph_spark._convert.batch_casts import cast_batch
from omnigraph_spark._convert.spark_types import arrow_schema, spark_schema

__all__ = ["as_spark_has_it", "load", "rows"]


def load(spark: SparkSession, repo: Repository | str, table: str, **options: Any) -> DataFrame:
    """Read a table; ``storage`` is a mapping, ``schema`` goes to ``.schema``."""
    reader = spark.read.format("omnigraph").option("table", table)
    schema, storage = options.pop("schema", None), options.pop("storage", {})
    if schema is not None:
        reader = reader.schema(schema)
    for name, value in {**options, **{f"storage.{k}": v for k, v in storage.items()}}.items():
        reader = reader.option(name, value)
    return reader.load(repo if isinstance(repo, str) else repo.uri)


def rows(frame: DataFrame | pa.Table) -> list[dict[str, Any]]:
    """Give rows in the order of their text, which tells NaN, None and signs apart."""
    table = frame if isinstance(frame, pa.Table) else frame.toArrow()
    return sorted(table.to_pylist(), key=repr)


def as_spark_has_it(table: pa.Table) -> pa.Table:
    """Give what L2 reads in the types that Spark has."""
    schema = arrow_schema(spark_schema(table.schema, table_key="node:X"))
    batches = [cast_batch(batch, schema, table_key="node:X") for batch in table.to_batches()]
    return pa.Table.from_batches(batches, schema=schema)
