"""A small graph for tests: people, the cities they live in, and whom they know.

Invariant: the same rows each time, with nulls and letters beyond ASCII among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from omnigraph_testing._extras import needs_graph

with needs_graph("sample_graph"):
    import pyarrow as pa

    from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository

__all__ = ["sample_graph"]

_SCHEMA = GraphSchema(
    nodes=[
        NodeType("Person", {"name": pa.string(), "age": pa.int32()}),
        NodeType("City", {"name": pa.string()}),
    ],
    edges=[
        EdgeType("Lives", "Person", "City", {"since": pa.date32()}),
        EdgeType("Knows", "Person", "Person"),
    ],
)
_PEOPLE = [
    {"id": "ann", "name": "Ann", "age": 31},
    {"id": "bob", "name": "Bob", "age": None},
    {"id": "eve", "name": "Ève", "age": 7},
]
_CITIES = [{"id": "oslo", "name": "Oslo"}, {"id": "人", "name": None}]
_LIVES = [
    {"id": "ann-oslo", "src": "ann", "dst": "oslo", "since": None},
    {"id": "bob-oslo", "src": "bob", "dst": "oslo", "since": None},
]
_KNOWS = [{"id": "ann-bob", "src": "ann", "dst": "bob"}]


def sample_graph(uri: str | Path, storage_options: Mapping[str, Any] | None = None) -> Repository:
    """Make a small repository at a location, and give it open: two commits after the first."""
    repository = Repository.init(
        uri, _SCHEMA, storage_options, actor="omnigraph-testing", durability="none"
    )
    with repository.transaction(message="people and cities") as tx:
        tx.append("node:Person", _PEOPLE)
        tx.append("node:City", _CITIES)
        tx.append("edge:Lives", _LIVES)
    with repository.transaction(message="who knows whom") as tx:
        tx.append("edge:Knows", _KNOWS)
    return repository
