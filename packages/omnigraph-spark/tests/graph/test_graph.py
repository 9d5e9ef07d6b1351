"""A graph in Spark is one snapshot, and its algorithms say what networkx says."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from reading import rows
from sizes import sized

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository
from omnigraph_l2.errors import InvalidRequest, UnknownBranch, UnknownCommit, UnknownTable
from omnigraph_l2.interop import view_names
from omnigraph_spark import Graph, cause_of, read_graph
from omnigraph_spark.errors import GraphFramesMissing, InvalidOptions
from omnigraph_testing import S3Store, sample_graph

SIZE = sized(40, 400)


def test_all_tables_are_of_one_moment(spark: SparkSession, omnigraph_repo: Repository) -> None:
    """Also those that are asked for after others have published."""
    repo = omnigraph_repo
    graph = read_graph(spark, repo.uri)
    with repo.transaction() as tx:
        tx.append("node:Person", [{"id": "late"}])
        tx.append("edge:Knows", [{"id": "late-ann", "src": "late", "dst": "ann"}])
    assert rows(graph.table("node:Person").select("id")) == [
        {"id": "ann"}, {"id": "bob"}, {"id": "eve"},
    ]  # fmt: skip
    assert {(row.id, row.type) for row in graph.nodes.collect()} == {
        ("ann", "Person"), ("bob", "Person"), ("eve", "Person"), ("oslo", "City"), ("人", "City"),
    }  # fmt: skip
    assert {(row.src, row.dst, row.type) for row in graph.edges.collect()} == {
        ("ann", "bob", "Knows"), ("ann", "oslo", "Lives"), ("bob", "oslo", "Lives"),
    }  # fmt: skip
    names = graph.views("g")
    assert names["edge:Lives"] == "g_Lives"
    found = spark.sql(
        "SELECT c.name, count(*) AS n FROM g_Lives l JOIN g_City c ON l.dst = c.id GROUP BY c.name"
    )
    assert rows(found) == [{"name": "Oslo", "n": 2}]
    assert read_graph(spark, repo.uri).table("node:Person", ["id"], "id > 'f'").count() == 1
    old = read_graph(spark, repo.uri, version=graph.version)
    assert old.nodes.count() == 5
    with pytest.raises(UnknownTable):
        graph.table("node:Nobody")
    with pytest.raises(InvalidOptions):
        graph.table("node:Person", "id")


def test_another_branch_of_the_name(spark: SparkSession, omnigraph_repo: Repository) -> None:
    """Where its branch was deleted, a graph has no more tables, and never those of another one."""
    repo = omnigraph_repo
    for name in ("first", "second"):
        repo.branches.create("side")
        with repo.transaction("side") as tx:
            tx.append("node:Person", [{"id": name}])
        if name == "first":
            graph = read_graph(spark, repo.uri, branch="side")
            assert graph.table("node:Person").where("id = 'first'").count() == 1
            repo.branches.delete("side")
            with pytest.raises(PySparkException) as raised:
                graph.table("node:Person").collect()
            assert isinstance(cause_of(raised.value), UnknownBranch)
    with pytest.raises(PySparkException) as raised:
        graph.table("node:Person").collect()
    assert isinstance(cause_of(raised.value), UnknownCommit)


def test_a_tag_keeps_it(spark: SparkSession, omnigraph_repo: Repository) -> None:
    """A tag shows a branch that is gone; another tag of its name is another moment."""
    repo = omnigraph_repo
    repo.branches.create("side")
    with repo.transaction("side") as tx:
        tx.append("node:Person", [{"id": "first"}])
    repo.tags.create("v1", "side")
    graph = read_graph(spark, repo.uri, tag="v1")
    repo.branches.delete("side", force=True)
    assert graph.table("node:Person").where("id = 'first'").count() == 1
    repo.tags.delete("v1")
    repo.tags.create("v1")
    with pytest.raises(PySparkException) as raised:
        graph.table("node:Person").collect()
    assert isinstance(cause_of(raised.value), InvalidRequest)


def test_names_of_views() -> None:
    """Each table has one of its own, whatever types are called."""
    keys = ["node:A", "edge:a", "node:B b", "node:B-b", "edge:人"]
    names = view_names(keys, "g")
    assert names["node:A"] == "g_node_A"
    assert names["edge:a"] == "g_edge_a"
    assert names["edge:人"] == "g_人"
    assert len({name.lower() for name in names.values()}) == len(keys)


def test_a_graph_frame_needs_its_jar(spark: SparkSession, omnigraph_repo: Repository) -> None:
    """Without it is told what is lacking."""
    with pytest.raises(GraphFramesMissing) as told:
        read_graph(spark, omnigraph_repo.uri).graphframe()
    assert told.value.lacking


@pytest.fixture(scope="module")
def random_graph(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Graph, nx.MultiDiGraph]]:
    """Several pieces, loops, edges that stand twice, a long chain, nodes of their own."""
    chance = random.Random(7)
    schema = GraphSchema(nodes=[NodeType("N")], edges=[EdgeType("E", "N", "N")])
    ids = [f"n{number:04}" for number in range(SIZE)]
    chain = list(pairwise(ids[: SIZE // 4]))
    wild = [(chance.choice(ids[SIZE // 3 :]), chance.choice(ids[SIZE // 3 :])) for _ in range(SIZE)]
    pairs = chain + wild[: SIZE // 2] + wild[:3] + [(ids[-1], ids[-1])]
    other = nx.MultiDiGraph()
    other.add_nodes_from(ids)
    other.add_edges_from(pairs)
    location = tmp_path_factory.mktemp("random") / "repo"
    with Repository.init(location, schema, durability="none") as repo:
        with repo.transaction() as tx:
            tx.append("node:N", [{"id": each} for each in ids])
            tx.append(
                "edge:E",
                [{"id": f"e{n}", "src": src, "dst": dst} for n, (src, dst) in enumerate(pairs)],
            )
        yield read_graph(spark, repo.uri), other


def test_degrees(random_graph: tuple[Graph, nx.MultiDiGraph]) -> None:
    """In, out and both; a loop counts twice, a node of its own not at all."""
    graph, other = random_graph
    found = {
        row.id: (row.in_degree, row.out_degree, row.degree) for row in graph.degrees().collect()
    }
    assert found == {n: (other.in_degree(n), other.out_degree(n), other.degree(n)) for n in other}


def test_connected_components(random_graph: tuple[Graph, nx.MultiDiGraph]) -> None:
    """Whatever the direction of edges; called after the least id. Too few rounds are told."""
    graph, other = random_graph
    found = {row.id: row.component for row in graph.connected_components().collect()}
    assert found == {n: min(part) for part in nx.weakly_connected_components(other) for n in part}
    with pytest.raises(InvalidOptions, match="most_rounds"):
        graph.connected_components(most_rounds=1)


def test_pagerank(random_graph: tuple[Graph, nx.MultiDiGraph]) -> None:
    """Nodes without a way out give to all; the sum is 1."""
    graph, other = random_graph
    found = {row.id: row.rank for row in graph.pagerank(damping=0.8, rounds=5).collect()}
    steps = nx.google_matrix(other, alpha=0.8)
    ranks = np.full(len(other), 1 / len(other)) @ np.linalg.matrix_power(steps, 5)
    assert sum(found.values()) == pytest.approx(1)
    assert found == pytest.approx(dict(zip(other, ranks, strict=True)))
    with pytest.raises(InvalidOptions):
        graph.pagerank(damping=1.0)


@pytest.mark.parametrize("directed", [True, False])
def test_neighbourhoods(random_graph: tuple[Graph, nx.MultiDiGraph], *, directed: bool) -> None:
    """What is reached, and at which distance, from several at once."""
    graph, other = random_graph
    starts = ["n0003", f"n{SIZE - 1:04}", "nobody"]
    ways = other if directed else other.to_undirected()
    wanted: dict[str, int] = {}
    for start in starts[:2]:
        for node, distance in nx.single_source_shortest_path_length(ways, start, cutoff=3).items():
            wanted[node] = min(distance, wanted.get(node, distance))
    found = graph.neighbourhood(starts, 3, directed=directed)
    assert {row.id: row.distance for row in found.collect()} == wanted


def test_edges_to_nowhere(spark: SparkSession, omnigraph_repo: Repository) -> None:
    """They carry nothing, and what they lead to is no node."""
    with omnigraph_repo.transaction(check_edges=False) as tx:
        tx.append("edge:Knows", [{"id": "gone", "src": "eve", "dst": "nobody"}])
    graph = read_graph(spark, omnigraph_repo.uri)
    assert sum(row.rank for row in graph.pagerank(rounds=3).collect()) == pytest.approx(1)
    assert [row.id for row in graph.neighbourhood(["eve"], 2).collect()] == ["eve"]
    assert graph.connected_components().count() == graph.degrees().count() == 5
    with pytest.raises(InvalidOptions, match="list of ids"):
        graph.neighbourhood("eve", 2)


def test_on_s3(spark: SparkSession, s3_store: S3Store) -> None:
    """Storage options reach the tasks, and are in no text."""
    options = s3_store.storage_options
    with sample_graph(s3_store.uri("graph"), options) as repo:
        graph = read_graph(spark, repo.uri, storage_options=options)
        wanted = rows(repo.snapshot().read("node:Person"))
    people = graph.table("node:Person")
    assert rows(people) == wanted
    assert graph.edges.count() == 3
    texts = [repr(graph), repr(people), people._jdf.queryExecution().toString()]  # type: ignore[operator]
    wrong = {**options, "aws_secret_access_key": "wrong-" + s3_store.secret_key}
    reader = spark.read.format("omnigraph").option("table", "node:Person")
    with pytest.raises((PySparkException, Py4JError)) as told:
        reader.options(**{f"storage.{k}": v for k, v in wrong.items()}).load(graph.uri)
    assert cause_of(told.value) is not None
    assert not any(s3_store.secret_key in text for text in [*texts, str(told.value)])
