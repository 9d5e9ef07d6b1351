"""Whether rows fit a table, before they are written."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph_l2 import GraphSchema, NodeType, Repository
from omnigraph_l2.errors import InvalidData, UnknownTable

SCHEMA = GraphSchema(nodes=[NodeType("Person", {"age": pa.int32(), "name": pa.string()})])


def test_rows_come_back_as_the_table_takes_them(tmp_path: Path) -> None:
    """With its types and all its columns, and nothing is written."""
    with Repository.init(tmp_path / "repo", SCHEMA, durability="none") as repo:
        snapshot = repo.snapshot()
        rows = pa.table({"id": ["a"], "age": pa.array([3], pa.int64())})
        whole = snapshot.fit_rows("node:Person", rows).read_all()
        assert whole.schema.field("age").type == pa.int32()
        assert whole.to_pylist() == [{"id": "a", "age": 3, "name": None}]
        some = snapshot.fit_rows("node:Person", rows, may_lack_nullable=True)
        assert some.schema.names == ["id", "age"]
        assert len(repo.log()) == 1


def test_what_does_not_fit_is_told_as_by_a_transaction(tmp_path: Path) -> None:
    """Columns at once, rows when they are read; an unknown table by its name."""
    with Repository.init(tmp_path / "repo", SCHEMA, durability="none") as repo:
        snapshot = repo.snapshot()
        with pytest.raises(InvalidData, match="nme"):
            snapshot.fit_rows("node:Person", [{"id": "a", "nme": "x"}]).read_all()
        with pytest.raises(InvalidData) as found:
            snapshot.fit_rows("node:Person", [{"id": "a"}, {"id": "", "age": 2**40}]).read_all()
        assert {(each.column, each.row) for each in found.value.problems} == {("id", 1), ("age", 1)}
        with pytest.raises(UnknownTable):
            snapshot.fit_rows("node:Nobody", [])
