"""How omnigraph-spark is used, for the type checker."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

import omnigraph_spark
from omnigraph_l2 import OmniGraphError
from omnigraph_spark import Graph, OmniGraphSparkError, cause_of, jobs
from omnigraph_spark.jobs import LoadedTable, LoadReport


def as_graph_error(error: OmniGraphSparkError) -> OmniGraphError:
    """An error of the pipeline is an error of the graph."""
    return error


def sessions(theirs: SparkSession) -> SparkSession:
    """A session of one's own, or the format in a session of others."""
    omnigraph_spark.register(theirs)
    return omnigraph_spark.session("mine", "local[2]", {"spark.ui.enabled": False})


def graphs(spark: SparkSession, uri: str) -> DataFrame:
    """A graph at one moment, and what can be asked of it."""
    graph: Graph = omnigraph_spark.read_graph(spark, uri, branch="main", tag=None)
    people: DataFrame = graph.table("node:Person", columns=["id"], filter="age > 30")
    names: dict[str, str] = graph.views("g")
    found: list[DataFrame] = [
        graph.nodes,
        graph.edges,
        graph.degrees(),
        graph.connected_components(most_rounds=10),
        graph.pagerank(damping=0.9, rounds=3),
    ]
    version: int = graph.version
    del people, names, found, version
    return graph.neighbourhood(["a"], 2, directed=False)


def look_closer(error: Exception) -> str | None:
    """The error of a graph in what Spark raised."""
    found: OmniGraphError | None = cause_of(error)
    return None if found is None else found.kind


def writes(spark: SparkSession, uri: str, rows: DataFrame) -> str | None:
    """Several tables, one publish."""
    with omnigraph_spark.transaction(spark, uri, actor="ann", check=False, timeout=9) as tx:
        tx.append("node:Person", rows)
        tx.overwrite("node:City", rows)
        tx.upsert("edge:Knows", rows)
        tx.delete("edge:Likes", rows)
        tx.expect("node:Pet")
        version: int = tx.snapshot.version
        wanted: str = tx.commit_id
    del version, wanted
    return None if tx.commit is None else tx.commit.message


def follows(stream: DataFrame, uri: str) -> None:
    """Several tables from one stream."""

    def write(tx: omnigraph_spark.SparkTransaction, batch: DataFrame) -> None:
        tx.upsert("node:Person", batch.select("after.*"))

    each: Callable[[DataFrame, int], None] = omnigraph_spark.each_batch(
        uri, write, branch="main", actor="ann", name="people", check=False
    )
    stream.writeStream.foreachBatch(each).start()


def loads(spark: SparkSession, uri: str) -> int:
    """Files into tables, by a mapping."""
    report: LoadReport = jobs.load(
        spark, uri, "mapping.toml", rejects="aside", max_rejects="1%", operation_hash="first"
    )
    table: LoadedTable = report.tables["node:Person"]
    return report.loaded + table.rejected["null"] + table.left_out["where"]
