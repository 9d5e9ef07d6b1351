"""The graph of the tests of writing, and what is in it. Other processes import it, too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository

__all__ = ["CITY", "KNOWS", "PERSON", "SCHEMA", "everything", "ids", "knows", "made", "person"]

PERSON, CITY, KNOWS = "node:Person", "node:City", "edge:Knows"
SCHEMA = GraphSchema(
    nodes=[NodeType("Person", {"name": pa.string(), "age": pa.int32()}), NodeType("City")],
    edges=[EdgeType("Knows", "Person", "Person", {"since": pa.int64()})],
)
Row = dict[str, Any]


def person(name: str, age: int | None = None) -> Row:
    """Make a person."""
    return {"id": name, "name": name.upper(), "age": age}


def knows(name: str, src: str, dst: str) -> Row:
    """Make an edge."""
    return {"id": name, "src": src, "dst": dst, "since": 1}


def made(location: Path | str, **how: Any) -> Repository:
    """Make a repository with two people who know each other."""
    repo = Repository.init(location, SCHEMA, **{"durability": "none", **how})
    with repo.transaction() as tx:
        tx.append(PERSON, [person("a", 1), person("b", 2)])
        tx.append(KNOWS, [knows("e", "a", "b")])
    return repo


def everything(repo: Repository, key: str = PERSON, **when: Any) -> dict[str, Row]:
    """Give all rows by id; an id that stands twice is an error."""
    rows = repo.snapshot(**when).read(key).to_pylist()
    found = {row["id"]: row for row in rows}
    assert len(found) == len(rows)
    return found


def ids(repo: Repository, key: str = PERSON, **when: Any) -> str:
    """Name all rows of a table."""
    return " ".join(sorted(everything(repo, key, **when)))


def frame(spark: Any, rows: Iterable[Row], *, columns: Sequence[str] | None = None) -> Any:
    """Make a data frame of people or edges."""
    listed = list(rows)
    names = list(columns or (listed[0] if listed else ("id", "name", "age")))
    kinds = {"age": "int", "since": "long"}
    schema = ", ".join(f"{name} {kinds.get(name, 'string')}" for name in names)
    return spark.createDataFrame([[row[name] for name in names] for row in listed], schema)
