"""A program that reads a graph with a Spark of its own, and prints what it found as JSON.

Called with how it is run (``submitted`` to a cluster, in a session that knows nothing of graphs; or
``connect`` for a Spark Connect server that is started beside it, which then writes, too), the
place, and JSON of storage options; where submitted also with the place of a repository to write to
with tasks that run twice, and a folder for their marks.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import twinsjob
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

import omnigraph_spark
from omnigraph_l2 import Repository
from omnigraph_spark import jobs
from omnigraph_spark.errors import OutputExists

CONFIG = {"spark.ui.enabled": "false"}


def main(how: str, uri: str, storage: dict[str, str], *twins: str) -> dict[str, Any]:
    """Read, filter, join, count, and run an algorithm."""
    if how == "connect":
        builder: Any = SparkSession.builder.remote("local[2]")
        for name, value in CONFIG.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        omnigraph_spark.register(spark)
    else:
        spark = SparkSession.builder.getOrCreate()
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
    if how == "connect":
        found["written"] = written(spark, uri)
    if twins:
        cloudpickle.register_pickle_by_value(twinsjob)  # executors do not have this folder
        twinsjob.write_twins(spark, *twins)
    spark.stop()
    return found


def written(spark: SparkSession, uri: str) -> dict[str, Any]:
    """Write one table, several at once, files, and changes that come as a stream."""
    city = spark.createDataFrame([("rome",)], "id string")
    city.write.format("omnigraph").option("table", "node:City").mode("append").save(uri)
    with omnigraph_spark.transaction(spark, uri) as tx:
        tx.upsert("node:Person", spark.createDataFrame([("zoe",)], "id string"))
        tx.append(
            "edge:Lives",
            spark.createDataFrame([("z", "zoe", "rome")], "id string, src string, dst string"),
        )
    out = f"{uri}-out"
    exported = jobs.export(spark, uri, out)
    try:
        jobs.export(spark, uri, out)
    except OutputExists as error:
        taken = len(error.paths)

    def take_in(tx: Any, batch: Any) -> None:
        tx.upsert("node:City", batch.where("change = 'insert'").select("after.*"))

    changes = spark.readStream.format("omnigraph").option("table", "node:City")
    stream = changes.option("starting", "snapshot").load(uri).writeStream
    stream = stream.foreachBatch(omnigraph_spark.each_batch(uri, take_in, branch="b", name="n"))
    with Repository.open(uri) as repo:
        repo.branches.create("b", repo.log()[-1].graph_commit_id)
        stream = stream.option("checkpointLocation", f"{uri}-checkpoint").trigger(availableNow=True)
        stream.start().awaitTermination()
        return {
            "exported": exported.tables["node:Person"].rows,
            "taken": taken,
            "sound": jobs.verify(spark, uri, dangling_edges=True).ok,
            "streamed": sorted(repo.snapshot("b").read("node:City")["id"].to_pylist()),
        }


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), *sys.argv[4:])))  # noqa: T201
