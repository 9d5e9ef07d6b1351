"""A small graph, and schemas near its own."""

from __future__ import annotations

import attrs
import pyarrow as pa

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository

PERSON = NodeType("Person", {"name": pa.string(), "age": pa.int32()})
COMPANY = NodeType("Company", {"name": pa.string()})
KNOWS = EdgeType("Knows", "Person", "Person", {"since": pa.date32()})
WORKS = EdgeType("Works", "Person", "Company")
SCHEMA = GraphSchema(nodes=[PERSON, COMPANY], edges=[KNOWS, WORKS])

PEOPLE = [{"id": "a", "name": "Ann", "age": 3}, {"id": "b", "name": "Bob", "age": None}]


def filled(repository: Repository) -> Repository:
    """Put two people, a company and one edge in."""
    with repository.transaction() as tx:
        tx.append("node:Person", PEOPLE)
        tx.append("node:Company", [{"id": "c", "name": "Co"}])
        tx.append("edge:Knows", [{"id": "e", "src": "a", "dst": "b"}])
    return repository


def with_types(*changed: NodeType | EdgeType, without: tuple[str, ...] = ()) -> GraphSchema:
    """Give the schema with some types changed, added, or taken out (by table key)."""
    types = {each.table_key: each for each in (*SCHEMA.types, *changed)}
    kept = [each for key, each in types.items() if key not in without]
    return GraphSchema(
        nodes=[each for each in kept if isinstance(each, NodeType)],
        edges=[each for each in kept if isinstance(each, EdgeType)],
    )


def like(schema: GraphSchema) -> dict[str, NodeType | EdgeType]:
    """Give a schema as what two of them are compared by: no order counts."""
    return {
        each.table_key: attrs.evolve(each, required=tuple(sorted(each.required)))
        for each in schema.types
    }


def rows(repository: Repository, table_key: str, branch: str = "main") -> list[dict[str, object]]:
    """Read all rows, by id."""
    found: list[dict[str, object]] = repository.snapshot(branch).read(table_key).to_pylist()
    return sorted(found, key=lambda row: str(row["id"]))


def branched(repository: Repository, name: str = "what-if", of: str = "main") -> str:
    """Make a graph branch at the head of another; give its native name."""
    native = repository.branches.create(name, of).native_branch
    assert native is not None
    return native
