"""Graphs in networkx and rustworkx: every node and edge, under its own id, or a typed error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import networkx as nx
import pyarrow as pa
import pytest
import rustworkx

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository, Snapshot
from omnigraph_l2.errors import InvalidRequest, MissingPackage, UnknownTable
from omnigraph_l2.interop import to_networkx, to_rustworkx

_SCHEMA = GraphSchema(
    nodes=[
        NodeType("Person", {"name": pa.string(), "born": pa.date32()}),
        NodeType("Firm", {"name": pa.string()}),
    ],
    edges=[
        EdgeType("Knows", "Person", "Person", {"since": pa.int32()}),
        EdgeType("Likes", "Person", "Person"),
        EdgeType("WorksAt", "Person", "Firm"),
    ],
)
_EXPORTS: list[Callable[..., Any]] = [to_networkx, to_rustworkx]
each_export = pytest.mark.parametrize("export", _EXPORTS)


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    """Two people who know each other twice over, and a firm."""
    with Repository.init(tmp_path / "repo", _SCHEMA, durability="none") as repository:
        with repository.transaction() as tx:
            tx.append(
                "node:Person",
                [{"id": "a", "name": "Ann", "born": date(1990, 5, 1)}, {"id": "b", "name": None}],
            )
            tx.append("node:Firm", [{"id": "f", "name": "Foo"}])
            tx.append(
                "edge:Knows",
                [
                    {"id": "1", "src": "a", "dst": "b", "since": 2019},
                    {"id": "2", "src": "a", "dst": "b", "since": 2020},
                    {"id": "3", "src": "b", "dst": "b", "since": None},
                ],
            )
            tx.append("edge:WorksAt", [{"id": "1", "src": "a", "dst": "f"}])
        yield repository


def _told(graph: Any) -> tuple[dict[Any, Any], list[Any]]:
    """Tell nodes by key and edges, of either library, in one form."""
    if isinstance(graph, nx.MultiDiGraph):
        edges = [(src, dst, data) for src, dst, data in graph.edges(data=True)]
        return dict(graph.nodes(data=True)), edges
    assert isinstance(graph.graph, rustworkx.PyDiGraph)
    nodes = {key: graph.graph[number] for key, number in graph.index.items()}
    names = {number: key for key, number in graph.index.items()}
    return nodes, [(names[a], names[b], data) for a, b, data in graph.graph.weighted_edge_list()]


@each_export
def test_every_node_and_edge_is_there(repo: Repository, export: Callable[..., Any]) -> None:
    """With its direction, its id and its properties as Python has them; parallel edges stay two."""
    nodes, edges = _told(export(repo.snapshot()))
    assert nodes == {
        "a": {"id": "a", "type": "Person", "name": "Ann", "born": date(1990, 5, 1)},
        "b": {"id": "b", "type": "Person", "name": None, "born": None},
        "f": {"id": "f", "type": "Firm", "name": "Foo"},
    }
    assert sorted(edges, key=lambda edge: (edge[2]["type"], edge[2]["id"])) == [
        ("a", "b", {"id": "1", "type": "Knows", "since": 2019}),
        ("a", "b", {"id": "2", "type": "Knows", "since": 2020}),
        ("b", "b", {"id": "3", "type": "Knows", "since": None}),
        ("a", "f", {"id": "1", "type": "WorksAt"}),
    ]


def test_edges_of_networkx_have_their_ids_as_keys(repo: Repository) -> None:
    """So that one of several between two nodes can be named."""
    graph = to_networkx(repo.snapshot())
    assert graph.edges["a", "b", "2"]["since"] == 2020


@each_export
def test_tables_and_columns_are_chosen(repo: Repository, export: Callable[..., Any]) -> None:
    """What was not asked for is not there, and not read."""
    nodes, edges = _told(
        export(
            repo.snapshot(),
            tables=["node:Person", "edge:Knows"],
            columns={"node:Person": ["name"], "edge:Knows": []},
            type_attribute="kind",
        )
    )
    assert nodes["a"] == {"id": "a", "name": "Ann", "kind": "Person"}
    assert set(nodes) == {"a", "b"}
    assert next(data for *_, data in edges).keys() == {"id", "kind"}


@each_export
def test_it_shows_the_moment_of_the_snapshot(repo: Repository, export: Callable[..., Any]) -> None:
    """Whatever is published meanwhile."""
    before = repo.snapshot()
    with repo.transaction() as tx:
        tx.delete("edge:Knows", "true")
        tx.upsert("node:Person", [{"id": "a", "name": "Zoe"}])
    nodes, edges = _told(export(before))
    assert (nodes["a"]["name"], len(edges)) == ("Ann", 4)


@each_export
def test_one_id_in_two_types_is_never_one_node(
    repo: Repository, export: Callable[..., Any]
) -> None:
    """It is refused, with what to do; with typed ids both are there and edges end at the right."""
    with repo.transaction() as tx:
        tx.append("node:Firm", [{"id": "b", "name": "Bar"}])
        tx.append("edge:WorksAt", [{"id": "2", "src": "b", "dst": "b"}])
    with pytest.raises(InvalidRequest, match="'b'; with typed_ids=True"):
        export(repo.snapshot())
    nodes, edges = _told(export(repo.snapshot(), typed_ids=True))
    assert nodes["Firm", "b"]["name"] == "Bar"
    assert nodes["Person", "b"]["name"] is None
    works = [(src, dst) for src, dst, data in edges if data["type"] == "WorksAt"]
    assert sorted(works) == [(("Person", "a"), ("Firm", "f")), (("Person", "b"), ("Firm", "b"))]


def test_one_id_in_two_types_is_never_one_edge(repo: Repository) -> None:
    """Between two nodes networkx has one edge for a key: the second would replace the first."""
    with repo.transaction() as tx:
        tx.append("edge:Likes", [{"id": "1", "src": "a", "dst": "b"}])
    with pytest.raises(InvalidRequest, match="both have the id '1'"):
        to_networkx(repo.snapshot())
    graph = to_networkx(repo.snapshot(), typed_ids=True)
    between = graph["Person", "a"]["Person", "b"]
    assert set(between) == {("Knows", "1"), ("Knows", "2"), ("Likes", "1")}
    assert to_rustworkx(repo.snapshot()).graph.num_edges() == 5


@each_export
def test_no_node_is_made_up(repo: Repository, export: Callable[..., Any]) -> None:
    """Neither for a table that was left out, nor for an end that is nowhere, or of another type."""
    with pytest.raises(InvalidRequest, match="add node:Firm"):
        export(repo.snapshot(), tables=["node:Person", "edge:WorksAt"])
    with repo.transaction(check_edges=False) as tx:
        tx.append("edge:WorksAt", [{"id": "2", "src": "a", "dst": "b"}])  # b is a person
    with pytest.raises(
        InvalidRequest, match=r"dst 'b' of an edge of edge:WorksAt is not in node:F"
    ):
        export(repo.snapshot())


@each_export
def test_what_cannot_be_exported_is_told_before_it_is_read(
    repo: Repository, export: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too many rows, names that are not there, a property called as the type is."""
    snapshot = repo.snapshot()
    monkeypatch.setattr(Snapshot, "scan", None)
    with pytest.raises(InvalidRequest, match="7 nodes and edges, and at_most says 6"):
        export(snapshot, at_most=6)
    with pytest.raises(UnknownTable):
        export(snapshot, tables=["node:Nobody"])
    with pytest.raises(InvalidRequest, match=r"'edge:Nope'.*no property 'wings'"):
        export(snapshot, columns={"edge:Nope": [], "node:Person": ["wings"]})
    with pytest.raises(InvalidRequest, match="choose another type_attribute"):
        export(snapshot, type_attribute="name")


@each_export
def test_a_missing_package_is_named(
    repo: Repository, export: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command that installs it."""
    name = export.__name__.removeprefix("to_")
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPackage, match=rf"pip install 'omnigraph-l2\[{name}\]'"):
        export(repo.snapshot())
