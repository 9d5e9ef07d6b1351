"""A program that reads a graph with a Spark of its own, and prints what it found as JSON.

Called with the master (``local-cluster[…]``, or ``connect`` for a Spark Connect server that is
started beside it), the place, and JSON of storage options.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

import omnigraph_spark

CONFIG = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def main(master: str, uri: str, storage: dict[str, str]) -> dict[str, Any]:
    """Read, filter, join, count, and run an algorithm."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    if master == "connect":
        builder: Any = SparkSession.builder.remote("local[2]")
        for name, value in CONFIG.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        omnigraph_spark.register(spark)
    else:
        spark = omnigraph_spark.session("job", master, {**CONFIG, **LOCAL})
    graph = omnigraph_spark.read_graph(spark, uri, storage_options=storage)
    people = graph.table("node:Person")
    found: dict[str, Any] = {
        "people": sorted(row.id for row in people.collect()),
        "old": people.where(F.col("age") > 20).count(),
        "names": sorted(graph.views("g").values()),
        "towns": [row.name for row in spark.sql(
            "SELECT DISTINCT c.name FROM g_Lives l JOIN g_City c ON l.dst = c.id"
        ).collect()],
        "degrees": {row.id: row.degree for row in graph.degrees().collect()},
    }  # fmt: skip
    try:
        graph.spark.read.format("omnigraph").option("table", "node:Nobody").options(
            **{f"storage.{name}": value for name, value in storage.items()}
        ).load(uri).count()
    except Exception as error:  # noqa: BLE001 - each kind of session wraps it in its own
        cause = omnigraph_spark.cause_of(error)
        found["error"] = None if cause is None else cause.kind
    spark.stop()
    return found


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))))  # noqa: T201
