"""Edges and their ends: an edge never points to a node that is not there.

Always: an answer is that of the versions that were looked at. The caller publishes with the
expectation that these are still current, so that nobody takes a node away meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa

from omnigraph_l1 import Table
from omnigraph_l2._catalog.declarations import endpoints
from omnigraph_l2._catalog.state import CatalogState
from omnigraph_l2._data.ids import IdSet
from omnigraph_l2._transactions.lookups import Lookups, present
from omnigraph_l2.errors import DanglingEdges

__all__ = ["check_ends", "check_removed", "edge_tables_at", "node_tables_of"]

ENDS = ("src", "dst")
_SHOWN = 10
_AT_ONCE = 262_144


def node_tables_of(state: CatalogState, edge_key: str, column: str) -> tuple[str, ...]:
    """Name the node tables in which an end of an edge may be."""
    named = endpoints(state, edge_key).get(column)
    if named is not None:
        return (f"node:{named}",)
    # Declared by the original program: then any node will do.
    return tuple(key for key in state.tables if key.startswith("node:"))


def edge_tables_at(state: CatalogState, node_key: str) -> list[tuple[str, str]]:
    """Name the edge tables, and which of their ends, that may point to a node table."""
    return [
        (key, column)
        for key in state.tables
        if key.startswith("edge:")
        for column in ENDS
        if node_key in node_tables_of(state, key, column)
    ]


def check_ends(
    edge_key: str,
    column: str,
    ends: IdSet,
    nodes: Mapping[str, Table],
    *,
    edges: Table,
    lookups: Lookups,
) -> None:
    """Refuse ends that no node has and edges still name. ``nodes`` has the tables to look in."""
    for batch in ends.batches(_AT_ONCE):
        absent: pa.Array = batch.unique()
        for table in nodes.values():
            if len(absent):
                absent = lookups.missing(table, absent)
        if len(absent):
            # An edge that was added and taken away again names nothing.
            absent = present(edges, column, absent)
        if len(absent):
            raise _dangling(edge_key, column, nodes, absent)


def check_removed(
    removed: IdSet,
    node_key: str,
    nodes: Callable[[str], Table],
    pointing: Iterable[tuple[str, str, tuple[str, ...]]],
    edges: Callable[[str], Table],
    *,
    lookups: Lookups,
) -> None:
    """Refuse to take nodes away that edges still point to.

    ``pointing`` names edge table, column and all node tables in which its end may be.
    """
    listed = list(pointing)
    for batch in removed.batches(_AT_ONCE):
        gone = lookups.missing(nodes(node_key), batch.unique())
        for edge_key, column, node_keys in listed:
            elsewhere = gone
            for key in node_keys:
                if key != node_key and len(elsewhere):
                    elsewhere = lookups.missing(nodes(key), elsewhere)
            if not len(elsewhere):
                continue
            used = present(edges(edge_key), column, elsewhere)
            if len(used):
                raise _dangling(edge_key, column, node_keys, used)


def _dangling(
    edge_key: str, column: str, node_keys: Iterable[str], absent: pa.Array
) -> DanglingEdges:
    shown = tuple(absent.slice(0, _SHOWN).to_pylist())
    return DanglingEdges(
        table_key=edge_key, column=column, node_tables=tuple(node_keys), missing=shown
    )
