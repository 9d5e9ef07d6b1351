"""The nodes and edges of a snapshot, one by one, for libraries that keep a graph in memory.

Invariant: every node has its own key, and every edge ends at existing nodes. Input that would need
merged or invented nodes is an error. Batches are read lazily, and only the requested columns.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from omnigraph_l2._branch.snapshot import Snapshot
from omnigraph_l2._model.graph_schema import EdgeType, NodeType
from omnigraph_l2.errors import InvalidRequest

__all__ = ["Elements", "elements"]

_BATCH = 8192
_NODE = "node:"
_WHAT = "export of a graph"


@attrs.frozen(kw_only=True)
class Elements:
    """What is exported: which tables, which of their columns, and how nodes are called."""

    _snapshot: Snapshot
    _nodes: tuple[NodeType, ...]
    _edges: tuple[EdgeType, ...]
    _columns: Mapping[str, Sequence[str]]
    _typed_ids: bool
    _type_attribute: str
    index: dict[Hashable, int] = attrs.field(factory=dict, init=False)
    """Which node has which key, by its number in the order in which they were given."""
    _types: list[str] = attrs.field(factory=list, init=False)

    def nodes(self) -> Iterator[tuple[Hashable, dict[str, Any]]]:
        """Return each node: its key, and its attributes with ``id`` and the name of its type."""
        for kind in self._nodes:
            for row in self._rows(kind, ("id",)):
                key = self._key(kind.name, row["id"])
                if key in self.index:
                    other = self._types[self.index[key]]
                    reason = (
                        f"a {other} and a {kind.name} both have the id {row['id']!r}; with "
                        "typed_ids=True nodes and edges are called (type, id)"
                    )
                    raise InvalidRequest(what=_WHAT, reason=reason)
                self.index[key] = len(self._types)
                self._types.append(kind.name)
                yield key, row

    def edges(self) -> Iterator[tuple[Hashable, Hashable, Hashable, dict[str, Any]]]:
        """Return each edge, after all nodes: the keys of its ends, its own key, its attributes."""
        for kind in self._edges:
            for row in self._rows(kind, ("id", "src", "dst")):
                src = self._end(kind, "src", kind.source, row.pop("src"))
                dst = self._end(kind, "dst", kind.target, row.pop("dst"))
                yield src, dst, self._key(kind.name, row["id"]), row

    def _rows(self, kind: NodeType | EdgeType, given: tuple[str, ...]) -> Iterator[dict[str, Any]]:
        wanted = self._columns.get(kind.table_key, tuple(kind.properties))
        columns = [*given, *(name for name in wanted if name not in given)]
        for batch in self._snapshot.scan(kind.table_key, columns, batch_size=_BATCH):
            for row in batch.to_pylist():
                row[self._type_attribute] = kind.name
                yield row

    def _key(self, type_name: str, row_id: str) -> Hashable:
        return (type_name, row_id) if self._typed_ids else row_id

    def _end(self, kind: EdgeType, column: str, of: str | None, node_id: str) -> Hashable:
        names = [each.name for each in self._nodes] if of is None else [of]
        keys = {self._key(name, node_id) for name in names}
        found = [key for key in keys if key in self.index]
        found = [key for key in found if self._types[self.index[key]] in names]
        if len(found) > 1:
            reason = (
                f"the {column} {node_id!r} of an edge of {kind.table_key} is in several node "
                "tables, and which is meant was never declared; name the tables that are wanted"
            )
            raise InvalidRequest(what=_WHAT, reason=reason)
        if not found:
            tables = " or ".join(f"{_NODE}{name}" for name in names) or "any table"
            reason = (
                f"the {column} {node_id!r} of an edge of {kind.table_key} is not in {tables}: add "
                "its table, or mend the edges that repo.verify finds"
            )
            raise InvalidRequest(what=_WHAT, reason=reason)
        return found[0]


def elements(
    snapshot: Snapshot,
    *,
    tables: Sequence[str] | None,
    columns: Mapping[str, Sequence[str]] | None,
    typed_ids: bool,
    type_attribute: str,
    at_most: int,
) -> Elements:
    """Validate what to export, before anything is read."""
    wanted = list(snapshot.tables if tables is None else dict.fromkeys(tables))
    chosen = {} if columns is None else dict(columns)
    rows = sum(snapshot.entry(key).row_count for key in wanted)
    schema = snapshot.schema
    nodes = tuple(each for each in schema.nodes if each.table_key in wanted)
    edges = tuple(each for each in schema.edges if each.table_key in wanted)
    _check_columns((*nodes, *edges), chosen, type_attribute)
    _check_ends(edges, {each.name for each in nodes})
    if rows > at_most:
        reason = (
            f"it has {rows} nodes and edges, and at_most says {at_most}: name fewer tables, or "
            "give a larger at_most if there is memory for them"
        )
        raise InvalidRequest(what=_WHAT, reason=reason)
    return Elements(
        snapshot=snapshot,
        nodes=nodes,
        edges=edges,
        columns=chosen,
        typed_ids=typed_ids,
        type_attribute=type_attribute,
    )


def _check_columns(
    types: Sequence[NodeType | EdgeType], chosen: Mapping[str, Sequence[str]], attribute: str
) -> None:
    keys = {each.table_key for each in types}
    strange = [key for key in chosen if key not in keys]
    problems = [f"columns names {key!r}, which is not among its tables" for key in strange]
    for each in types:
        key = each.table_key
        wanted = chosen.get(key, tuple(each.properties))
        unknown = [name for name in wanted if name not in each.properties and name != "id"]
        problems += [f"{key} has no property {name!r}" for name in unknown]
        if attribute in {*wanted, "id"}:
            problems.append(
                f"{key} has a property {attribute!r}, as the attribute for the type is called: "
                "leave it out with columns, or choose another type_attribute"
            )
    if problems:
        raise InvalidRequest(what=_WHAT, reason="; ".join(problems))


def _check_ends(edges: Sequence[EdgeType], there: set[str]) -> None:
    for edge in edges:
        lacking = [name for name in (edge.source, edge.target) if name not in {*there, None}]
        if lacking:
            reason = (
                f"edges of {edge.table_key} end at {' and '.join(sorted(set(map(str, lacking))))}, "
                f"not among the tables: add {_NODE}{lacking[0]}, or leave {edge.table_key} out"
            )
            raise InvalidRequest(what=_WHAT, reason=reason)
