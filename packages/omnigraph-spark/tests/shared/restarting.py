"""Files into a table, and its changes into two tables of another graph: a driver that is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows
from pyspark.sql.streaming import StreamingQuery
from spark_graph import KNOWS, PERSON

import omnigraph_spark
from omnigraph_spark import SparkTransaction, each_batch

__all__ = ["EVENTS_OF_A_FILE", "arrive", "follow", "run"]

EVENTS_OF_A_FILE = 5
_WITHIN_SECONDS = 2.0
_CONFIG = {
    "spark.ui.enabled": False,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def arrive(location: Path, start: int, files: int) -> None:
    """Let files with events arrive: each event has a number."""
    location.mkdir(exist_ok=True)
    for number in range(start, start + files):
        numbers = range(number * EVENTS_OF_A_FILE, (number + 1) * EVENTS_OF_A_FILE)
        rows = [json.dumps({"id": f"n{each}", "age": each}) for each in numbers]
        hidden = location / f".{number}"
        hidden.write_text("\n".join(rows))
        hidden.rename(location / f"{number}.json")


def run(location: str, uri: str, target: str, seed: int) -> None:
    """Follow in a session of its own, and die on the way."""
    spark = omnigraph_spark.session("restarting", "local[2]", _CONFIG)
    follow(spark, location, uri, target, seed)
    spark.stop()


def follow(
    spark: SparkSession, location: str, uri: str, target: str, seed: int | None = None
) -> None:
    """Write what has arrived into one graph, and from there into the other."""
    checkpoints = Path(location) / "checkpoints"
    arriving = spark.readStream.schema("id string, age int").option("maxFilesPerTrigger", 1)
    sink = arriving.json(str(Path(location) / "in")).writeStream.format("omnigraph")
    sink = sink.option("table", PERSON).option("checkpointLocation", str(checkpoints / "1"))
    first = sink.trigger(availableNow=True).start(uri)
    source = spark.readStream.format("omnigraph").option("table", PERSON)
    source = source.option("starting", "earliest").option("max_commits_per_batch", 2)
    each = source.load(uri).writeStream.foreachBatch(each_batch(target, _into_two, check=False))
    second = each.option("checkpointLocation", str(checkpoints / "2")).start()
    if seed is not None:
        threading.Thread(target=_die, args=(first, seed), daemon=True).start()
    first.awaitTermination()
    second.processAllAvailable()
    second.stop()


def _die(query: StreamingQuery, seed: int) -> None:
    """Be killed at a random moment, once the first batch has landed."""
    pause = threading.Event()
    while query.lastProgress is None:
        pause.wait(0.02)
    pause.wait(random.Random(seed).uniform(0, _WITHIN_SECONDS))
    os.kill(os.getpid(), signal.SIGKILL)


def _into_two(tx: SparkTransaction, batch: DataFrame) -> None:
    """Each event is a node and an edge."""
    events = batch.where("change = 'insert' AND id LIKE 'n%'")
    tx.append(PERSON, events.select("id", F.col("after.age").alias("age")))
    tx.append(
        KNOWS,
        events.select(
            F.concat(F.lit("k-"), "id").alias("id"),
            F.col("id").alias("src"),
            F.lit("a").alias("dst"),
        ),
    )
