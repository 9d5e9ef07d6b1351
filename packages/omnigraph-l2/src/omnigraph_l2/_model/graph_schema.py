"""Node types, edge types, and the schema that holds them. Pure values.

Invariant: the columns of a table follow from its type alone. ``refuse_unstorable`` checks whether a
schema can be stored and reports every problem at once. A schema that was read from a repository is
not checked, because another publisher may have declared more than this package can store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import attrs
import pyarrow as pa

from omnigraph_l1 import table_path
from omnigraph_l2._model.index_kinds import index_problems
from omnigraph_l2._model.schema_names import (
    name_problems,
    property_problems,
    type_name_problems,
    unique_problems,
)
from omnigraph_l2.errors import InvalidSchema

__all__ = ["EdgeType", "GraphSchema", "NodeType", "refuse_unstorable", "storing_problems"]

_ID = (pa.field("id", pa.string(), nullable=False),)
_ENDS = (
    pa.field("src", pa.string(), nullable=False),
    pa.field("dst", pa.string(), nullable=False),
)


_A = TypeVar("_A")


def _freeze(properties: Mapping[str, pa.DataType]) -> Mapping[str, pa.DataType]:
    return _as_mapping(properties, "properties are a mapping of names to pyarrow types")


def _indexes(indexes: Mapping[str, str]) -> Mapping[str, str]:
    return _as_mapping(indexes, "indexes are a mapping of names of properties to kinds of indexes")


def _as_mapping(given: Mapping[str, _A], expected: str) -> Mapping[str, _A]:
    found: object = given
    if not isinstance(found, Mapping):
        raise InvalidSchema(problems=(f"{expected}, found {found!r}",))
    return MappingProxyType(dict(given))


def _as_tuple(given: object, expected: str, kind: type[_A]) -> tuple[_A, ...]:
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise InvalidSchema(problems=(f"{expected}, found {given!r}",))
    listed = tuple(given)
    wrong = [f"{expected}, found {each!r} in it" for each in listed if not isinstance(each, kind)]
    if wrong:
        raise InvalidSchema(problems=tuple(wrong))
    return listed


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return _as_tuple(names, "required and unique are lists of names of properties", str)


def _nodes(types: Iterable[NodeType]) -> tuple[NodeType, ...]:
    return _as_tuple(types, "nodes are a list of NodeType", NodeType)


def _edges(types: Iterable[EdgeType]) -> tuple[EdgeType, ...]:
    return _as_tuple(types, "edges are a list of EdgeType", EdgeType)


@attrs.frozen
class NodeType:
    """A kind of node. Each node has an ``id``, and the properties that are declared here."""

    name: str
    properties: Mapping[str, pa.DataType] = attrs.field(factory=dict, converter=_freeze)
    required: tuple[str, ...] = attrs.field(default=(), converter=_names, kw_only=True)
    """The properties that may not be null."""
    unique: tuple[str, ...] = attrs.field(default=(), converter=_names, kw_only=True)
    """The properties of which no two rows have the same value. Nulls are no values."""
    indexes: Mapping[str, str] = attrs.field(factory=dict, converter=_indexes, kw_only=True)
    """The properties that shall have an index, and its kind: ``{"name": "btree"}``."""

    @property
    def table_key(self) -> str:
        """The name of its table in snapshots and transactions."""
        return f"node:{self.name}"

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns of its table."""
        return pa.schema([*_ID, *_columns(self)])

    def __reduce__(self) -> tuple[object, ...]:
        return _reduce(self)


@attrs.frozen
class EdgeType:
    """A kind of edge, from nodes of one type to nodes of one type.

    Where the types of its ends are not known (a table that another publisher declared), they
    are None, and an end may be in any node table.
    """

    name: str
    source: str | None
    target: str | None
    properties: Mapping[str, pa.DataType] = attrs.field(factory=dict, converter=_freeze)
    required: tuple[str, ...] = attrs.field(default=(), converter=_names, kw_only=True)
    """The properties that may not be null."""
    unique: tuple[str, ...] = attrs.field(default=(), converter=_names, kw_only=True)
    """The properties of which no two rows have the same value. Nulls are no values."""
    indexes: Mapping[str, str] = attrs.field(factory=dict, converter=_indexes, kw_only=True)
    """The properties that shall have an index, and its kind: ``{"name": "btree"}``."""

    @property
    def table_key(self) -> str:
        """The name of its table in snapshots and transactions."""
        return f"edge:{self.name}"

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns of its table."""
        return pa.schema([*_ID, *_ENDS, *_columns(self)])

    def __reduce__(self) -> tuple[object, ...]:
        return _reduce(self)


@attrs.frozen(kw_only=True)
class GraphSchema:
    """The types of a graph. ``GraphSchema(nodes=[…], edges=[…])``."""

    nodes: tuple[NodeType, ...] = attrs.field(default=(), converter=_nodes)
    edges: tuple[EdgeType, ...] = attrs.field(default=(), converter=_edges)

    @property
    def types(self) -> tuple[NodeType | EdgeType, ...]:
        """All types, nodes first."""
        return (*self.nodes, *self.edges)

    def __getitem__(self, table_key: str) -> NodeType | EdgeType:
        for each in self.types:
            if each.table_key == table_key:
                return each
        raise InvalidSchema(problems=(f"there is no type with the table {table_key!r}",))

    def __contains__(self, table_key: object) -> bool:
        return any(each.table_key == table_key for each in self.types)


def _reduce(declared: NodeType | EdgeType) -> tuple[object, ...]:
    fields = {each.name: getattr(declared, each.name) for each in attrs.fields(type(declared))}
    plain = {
        name: dict(value) if isinstance(value, Mapping) else value for name, value in fields.items()
    }
    return _remade, (type(declared), plain)


def _remade(kind: type[NodeType | EdgeType], fields: Mapping[str, Any]) -> NodeType | EdgeType:
    return kind(**fields)


def _columns(declared: NodeType | EdgeType) -> Iterator[pa.Field]:
    for name, type_ in declared.properties.items():
        yield pa.field(name, type_, nullable=name not in declared.required)


def _problems(declared: NodeType | EdgeType) -> Iterator[str]:
    reserved = ("id",) if isinstance(declared, NodeType) else ("id", "src", "dst")
    yield from type_name_problems(declared.name)
    for name, type_ in declared.properties.items():
        yield from name_problems(declared.name, name, reserved)
        yield from property_problems(declared.name, name, type_)
    for name in declared.required:
        if name not in declared.properties:
            yield f"{declared.name!r} requires {name!r}, which is no property of it"
    for name in declared.unique:
        if name not in declared.properties:
            yield f"{declared.name!r} has {name!r} as unique, which is no property of it"
        else:
            yield from unique_problems(declared.name, name, declared.properties[name])
    yield from index_problems(declared.name, declared.properties, declared.indexes)


def _schema_problems(nodes: Iterable[NodeType], edges: Iterable[EdgeType]) -> Iterator[str]:
    known = {node.name for node in nodes}
    for kind, declared in (("node", tuple(nodes)), ("edge", tuple(edges))):
        folded: dict[str, str] = {}
        paths: dict[str, str] = {}
        for each in declared:
            if any(type_name_problems(each.name)):
                continue
            if each.name.casefold() in folded:
                before = folded[each.name.casefold()]
                how = "stand twice" if before == each.name else "differ only by case"
                yield f"the {kind} types {before!r} and {each.name!r} {how}"
                continue
            folded[each.name.casefold()] = each.name
            first = paths.setdefault(table_path(each.table_key), each.name)
            if first != each.name:
                yield f"the {kind} types {first!r} and {each.name!r} have the same hash"
    for edge in edges:
        for end in (edge.source, edge.target):
            if end is not None and end not in known:
                yield (
                    f"edge type {edge.name!r} ends at {end!r}, which is no node type here; declare "
                    "it, or leave the edge type out"
                )


def storing_problems(schema: GraphSchema, *, taken_as_they_are: Collection[str] = ()) -> list[str]:
    """Return why a schema cannot be stored. The listed tables may stay as they are already."""
    problems = [
        problem
        for each in schema.types
        if each.table_key not in taken_as_they_are
        for problem in _problems(each)
    ]
    return problems + list(_schema_problems(schema.nodes, schema.edges))


def refuse_unstorable(schema: GraphSchema) -> None:
    """Raise ``InvalidSchema`` with every problem if a schema cannot be stored."""
    problems = storing_problems(schema)
    if problems:
        raise InvalidSchema(problems=tuple(problems))
