"""Snapshots in DuckDB, networkx and rustworkx.

Invariant: data is read lazily, nothing is written, and the result shows the revision of the
snapshot. polars, pandas and pyarrow need no adapter: see docs/interop.md. The libraries are
imported on use; a missing one raises ``MissingPackage``. Names of views are unique without regard
to case, because SQL ignores case.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from omnigraph_l2._branch.snapshot import Snapshot
from omnigraph_l2.errors import InvalidRequest, MissingPackage
from omnigraph_l2.interop.graph_elements import elements

if TYPE_CHECKING:
    import networkx as nx
    import rustworkx

__all__ = ["IndexedGraph", "duckdb_views", "to_networkx", "to_rustworkx", "view_names"]

_AT_MOST = 10_000_000


class _Connection(Protocol):
    def register(self, view_name: str, python_object: object) -> Any:
        """Make an object readable in SQL under a name."""


@attrs.frozen
class IndexedGraph:
    """A graph of rustworkx, which numbers its nodes, and which number has which id."""

    graph: rustworkx.PyDiGraph[dict[str, Any], dict[str, Any]]
    index: Mapping[Hashable, int]


def duckdb_views(
    snapshot: Snapshot,
    connection: _Connection,
    *,
    tables: Sequence[str] | None = None,
    prefix: str = "graph",
) -> dict[str, str]:
    """Create a view of each table in a DuckDB connection; return view names by table key.

    ``graph_Person`` is the view of ``node:Person``. Only the columns that a query names are read,
    and only rows that its simple filters match. What the views read is kept as long as they are.
    """
    wanted = snapshot.tables if tables is None else dict.fromkeys(tables)
    datasets = {key: snapshot.dataset(key) for key in wanted}
    names = view_names(datasets, prefix)
    for key, name in names.items():
        connection.register(name, datasets[key])
    return names


def to_networkx(
    snapshot: Snapshot,
    *,
    tables: Sequence[str] | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    typed_ids: bool = False,
    type_attribute: str = "type",
    at_most: int = _AT_MOST,
) -> nx.MultiDiGraph[Hashable]:
    """Copy a graph into networkx: nodes and edges have their ids as keys, properties as attributes.

    ``columns`` says which properties of a table are wanted; of the others, all are. The name of the
    type is the attribute ``type``. With ``typed_ids`` keys are ``(type, id)``. More rows than
    ``at_most`` are refused before any is read.
    """
    library = _import("networkx", "An export to networkx", "omnigraph-l2[networkx]")
    found = elements(
        snapshot,
        tables=tables,
        columns=columns,
        typed_ids=typed_ids,
        type_attribute=type_attribute,
        at_most=at_most,
    )
    graph: nx.MultiDiGraph[Hashable] = library.MultiDiGraph()
    graph.add_nodes_from(found.nodes())
    for src, dst, key, attributes in found.edges():
        if graph.has_edge(src, dst, key):
            reason = (
                f"two edges from {src!r} to {dst!r} both have the id {key!r}; with typed_ids=True "
                "nodes and edges are called (type, id)"
            )
            raise InvalidRequest(what="export of a graph", reason=reason)
        graph.add_edges_from([(src, dst, key, attributes)])
    return graph


def to_rustworkx(
    snapshot: Snapshot,
    *,
    tables: Sequence[str] | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    typed_ids: bool = False,
    type_attribute: str = "type",
    at_most: int = _AT_MOST,
) -> IndexedGraph:
    """Copy a graph into rustworkx: the payload of a node or an edge is its attributes, with ``id``.

    Everything else is as in ``to_networkx``.
    """
    library = _import("rustworkx", "An export to rustworkx", "omnigraph-l2[rustworkx]")
    found = elements(
        snapshot,
        tables=tables,
        columns=columns,
        typed_ids=typed_ids,
        type_attribute=type_attribute,
        at_most=at_most,
    )
    graph = library.PyDiGraph(multigraph=True)
    for _, attributes in found.nodes():
        graph.add_node(attributes)
    for src, dst, _, attributes in found.edges():
        graph.add_edge(found.index[src], found.index[dst], attributes)
    return IndexedGraph(graph, found.index)


def _import(package: str, what: str, requirement: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingPackage(package=package, what=what, requirement=requirement) from error


_OTHER = re.compile(r"\W")


def view_names(table_keys: Iterable[str], prefix: str) -> dict[str, str]:
    """Return a name for each table key."""
    short = {key: _plain(f"{prefix}_{key.partition(':')[2]}") for key in table_keys}
    names: dict[str, str] = {}
    taken: set[str] = set()
    for key, name in short.items():
        alone = sum(other.lower() == name.lower() for other in short.values()) == 1
        wanted = name if alone else _plain(f"{prefix}_{key.replace(':', '_')}")
        found, number = wanted, 2
        while found.lower() in taken:
            found, number = f"{wanted}_{number}", number + 1
        taken.add(found.lower())
        names[key] = found
    return names


def _plain(name: str) -> str:
    return _OTHER.sub("_", name)
