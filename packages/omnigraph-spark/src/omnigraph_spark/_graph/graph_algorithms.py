"""Graph algorithms on plain DataFrames.

``nodes`` has the column ``id``, ``edges`` has ``src`` and ``dst``. Parallel edges count separately;
nodes with the same id are one node. Each round cuts the lineage, so that plans do not grow.
Intermediate results are kept on executors, never in the driver.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that everybody knows

from omnigraph_spark.errors import InvalidOptions

__all__ = ["connected_components", "degrees", "neighbourhood", "pagerank"]


def degrees(nodes: DataFrame, edges: DataFrame) -> DataFrame:
    """Count the edges of each node: ``id``, ``in_degree``, ``out_degree``, ``degree``."""
    ends = edges.select(F.explode(F.array(_end("src", 0), _end("dst", 1))).alias("end"))
    counted = ends.groupBy(F.col("end.id").alias("id")).agg(
        F.sum("end.into").alias("in_degree"), F.sum(1 - F.col("end.into")).alias("out_degree")
    )
    found = nodes.select("id").distinct().join(counted, "id", "left").fillna(0)
    return found.withColumn("degree", F.col("in_degree") + F.col("out_degree"))


def connected_components(
    nodes: DataFrame, edges: DataFrame, *, most_rounds: int = 100
) -> DataFrame:
    """Return the connected component of each node: ``id``, ``component`` (its least id).

    In each round a node takes the least component of itself, of its neighbours, and of the node
    that its component is named after. The number of rounds grows about with the logarithm of the
    longest path.
    """
    _check("most_rounds", most_rounds, 1)
    both = _both_ways(edges).distinct().localCheckpoint()
    labels = nodes.select("id", F.col("id").alias("component")).distinct().localCheckpoint()
    for _ in range(most_rounds):
        named = labels.select(F.col("id").alias("dst"), F.col("component").alias("theirs"))
        least = both.join(named, "dst").groupBy(F.col("src").alias("id"))
        nearer = labels.join(least.agg(F.min("theirs").alias("theirs")), "id", "left").select(
            "id",
            "component",
            F.least("component", F.coalesce("theirs", "component")).alias("nearest"),
        )
        of_those = nearer.select(F.col("id").alias("nearest"), F.col("nearest").alias("beyond"))
        after = (
            nearer.join(of_those, "nearest", "left")
            .select("id", "component", F.least("nearest", "beyond").alias("next"))
            .localCheckpoint()
        )
        moved = after.where(F.col("next") != F.col("component")).limit(1).count()
        labels = after.select("id", F.col("next").alias("component"))
        if not moved:
            return labels
    problem = f"components still changed after {most_rounds} rounds: increase 'most_rounds'"
    raise InvalidOptions(problems=(problem,))


def pagerank(
    nodes: DataFrame, edges: DataFrame, *, damping: float = 0.85, rounds: int = 20
) -> DataFrame:
    """Compute PageRank: ``id``, ``rank``. Ranks add up to 1.

    The rank of nodes without outgoing edges is distributed to all nodes.
    """
    _check("rounds", rounds, 1)
    if not 0 <= damping < 1:
        raise InvalidOptions(
            problems=(f"Invalid damping {damping!r}: expected a number >= 0 and < 1",)
        )
    known = nodes.select("id").distinct()
    count = known.count()
    if not count:
        return known.withColumn("rank", F.lit(0.0))
    # Rank sent along edges without a target would be lost.
    edges = edges.join(known.select(F.col("id").alias("dst")), "dst", "left_semi")
    out = edges.groupBy("src").agg(F.count("*").alias("out"))
    links = edges.groupBy("src", "dst").agg(F.count("*").alias("times")).join(out, "src")
    links = links.select("src", "dst", (F.col("times") / F.col("out")).alias("part"))
    links = links.localCheckpoint()
    ranks = known.withColumn("rank", F.lit(1.0 / count)).localCheckpoint()
    for _ in range(rounds):
        sent = ranks.join(links, ranks.id == links.src).groupBy(F.col("dst").alias("id"))
        received = sent.agg(F.sum(F.col("rank") * F.col("part")).alias("received"))
        summed = received.agg(F.sum("received").alias("all")).select(F.coalesce("all", F.lit(0.0)))
        lost = 1.0 - summed.head()[0]  # type: ignore[index]  # an aggregate has a row
        base = (1.0 - damping) / count + damping * lost / count
        ranks = known.join(received, "id", "left").select(
            "id", (F.lit(base) + damping * F.coalesce("received", F.lit(0.0))).alias("rank")
        )
        ranks = ranks.localCheckpoint()
    return ranks


def neighbourhood(
    nodes: DataFrame, edges: DataFrame, *, ids: Sequence[str], hops: int, directed: bool = True
) -> DataFrame:
    """Return the nodes within some hops: ``id``, ``distance``. Start nodes have distance 0."""
    _check("hops", hops, 0)
    value: object = ids
    if isinstance(value, str):
        raise InvalidOptions(problems=(f"Invalid ids {value!r}: expected a list of ids",))
    ways = edges.select("src", "dst") if directed else _both_ways(edges)
    reached = nodes.where(F.col("id").isin(list(ids))).select("id", F.lit(0).alias("distance"))
    reached = reached.distinct().localCheckpoint()
    newest = reached
    for hop in range(1, hops + 1):
        following = newest.join(ways, newest.id == ways.src).select(F.col("dst").alias("id"))
        there = following.distinct().join(nodes.select("id"), "id", "left_semi")
        newest = there.join(reached, "id", "left_anti")
        newest = newest.withColumn("distance", F.lit(hop)).localCheckpoint()
        if newest.isEmpty():
            break
        reached = reached.unionByName(newest).localCheckpoint()
    return reached


def _end(column: str, into: int) -> Column:
    return F.struct(F.col(column).alias("id"), F.lit(into).alias("into"))


def _both_ways(edges: DataFrame) -> DataFrame:
    there = edges.select("src", "dst")
    back = edges.select(F.col("dst").alias("src"), F.col("src").alias("dst"))
    return there.unionByName(back)


def _check(name: str, found: int, least: int) -> None:
    value: object = found
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidOptions(
            problems=(f"Invalid {name} {value!r}: expected a whole number >= {least}",)
        )
