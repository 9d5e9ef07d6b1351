"""A stream from files into a table, until all that is there has been written."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from spark_graph import PERSON

import omnigraph_spark

__all__ = ["stream"]


def stream(
    spark: SparkSession | None, uri: str, location: Path, mode: str = "append", **options: str
) -> None:
    """Write what has arrived; without a session, in one of its own."""
    if spark is None:
        config = {"spark.ui.enabled": False}
        spark = omnigraph_spark.session("stream", "local[2]", config)
    source = spark.readStream.schema("id string, age int").json(str(location / "in"))
    if mode == "complete":
        source = source.groupBy("id").agg({"age": "max"}).withColumnRenamed("max(age)", "age")
    sink = (
        source.writeStream.outputMode(mode)
        .format("omnigraph")
        .option("table", PERSON)
        .options(**options)
    )
    sink = sink.option("checkpointLocation", str(location / "checkpoint"))
    sink.trigger(availableNow=True).start(uri).awaitTermination()
