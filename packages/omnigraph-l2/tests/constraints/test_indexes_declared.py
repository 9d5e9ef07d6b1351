"""Indexes that a schema wishes for: they are kept with the type, and are no part of the rows."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository
from omnigraph_l2.errors import InvalidSchema

PROPERTIES = {"name": pa.string(), "kind": pa.int8(), "place": pa.list_(pa.float32(), 8)}
INDEXES = {"name": "full_text", "kind": "bitmap", "place": "vector"}
DOC = NodeType("Doc", PROPERTIES, indexes=INDEXES)
CITES = EdgeType("Cites", "Doc", "Doc", {"year": pa.int32()}, indexes={"year": "btree"})
SCHEMA = GraphSchema(nodes=[DOC], edges=[CITES])


def test_the_declaration_is_kept(tmp_path: Path) -> None:
    """It is part of the schema, on branches too, and travels with it."""
    with Repository.init(tmp_path / "repo", SCHEMA, durability="none") as repo:
        assert repo.snapshot().schema == SCHEMA
        repo.branches.create("side")
        assert repo.snapshot("side").schema == SCHEMA
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA


def test_declaring_other_ones(tmp_path: Path) -> None:
    """It makes no version of any table, and loses nothing else that is declared."""
    with Repository.init(tmp_path / "repo", SCHEMA, durability="none") as repo:
        before = repo.snapshot()
        other = NodeType("Doc", PROPERTIES, unique=["kind"], indexes={"name": "ngram"})
        wanted = GraphSchema(nodes=[other], edges=[CITES])
        repo.evolve(wanted)
        only_indexes = NodeType("Doc", PROPERTIES, unique=["kind"])
        version = repo.snapshot().tables["node:Doc"].table_version
        assert version > before.tables["node:Doc"].table_version
        plan = repo.plan_evolution(GraphSchema(nodes=[only_indexes], edges=[CITES]))
        assert str(plan) == "1. declare the indexes of node type 'Doc': none"
        repo.evolve(GraphSchema(nodes=[only_indexes], edges=[CITES]))
        after = repo.snapshot()
        assert after.tables["node:Doc"].table_version == version
        assert after.schema == GraphSchema(nodes=[only_indexes], edges=[CITES])
        assert before.schema == SCHEMA


@pytest.mark.parametrize(
    ("indexes", "words"),
    [
        ({"missing": "btree"}, "no property"),
        ({"name": "hash"}, "one of 'btree'"),
        ({"name": "vector"}, "fixed-size lists of floats"),
        ({"kind": "full_text"}, "for text"),
        ({"place": "btree"}, "single values"),
    ],
)
def test_what_cannot_be_declared(tmp_path: Path, indexes: dict[str, str], words: str) -> None:
    """The error says what fits."""
    schema = GraphSchema(nodes=[NodeType("Doc", PROPERTIES, indexes=indexes)])
    with pytest.raises(InvalidSchema, match=words):
        Repository.init(tmp_path / "repo", schema)
    with pytest.raises(InvalidSchema, match="mapping"):
        NodeType("Doc", PROPERTIES, indexes=["name"])  # type: ignore[arg-type]
