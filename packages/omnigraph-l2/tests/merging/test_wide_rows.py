"""Rows that are large: fewer of them are looked at together.

The private bound is lowered and what is held is counted: the real bound needs gigabytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph_l2 import EdgeType, GraphSchema, NodeType, Repository
from omnigraph_l2._merge import row_merge
from omnigraph_l2._merge.row_versions import RowVersions

SCHEMA = GraphSchema(
    nodes=[NodeType("Text", {"text": pa.string(), "of": pa.int32()})],
    edges=[EdgeType("Cites", "Text", "Text", {"note": pa.string()})],
)
TEXT, CITES = "node:Text", "edge:Cites"
ROWS, WIDTH = 900, 4_000
BOUND = 1_000_000
MOST = 2 * BOUND


def texts(number: int) -> pa.Table:
    """Make rows of some kilobytes."""
    ids = [f"t{each}" for each in range(ROWS)]
    text = [f"{number} {each}".ljust(WIDTH) for each in ids]
    return pa.table({"id": ids, "text": text, "of": pa.array([number] * ROWS, pa.int32())})


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note how many bytes each look holds, and let it be few."""
    held: list[int] = []

    class Noting(RowVersions):
        def _number(self, entry: Any) -> Any:
            numbers = super()._number(entry)
            held.append(self._read[-1][0].nbytes)
            return numbers

    monkeypatch.setattr(row_merge, "RowVersions", Noting)
    monkeypatch.setattr(row_merge, "_BYTES_AT_ONCE", BOUND)
    return held


@pytest.mark.parametrize("changes", ["updates", "deletes"])
def test_nodes(tmp_path: Path, looks: list[int], changes: str) -> None:
    """Also where the rows are only there on the side that did not change them."""
    with Repository.init(tmp_path / "r", SCHEMA, durability="none") as repo:
        with repo.transaction() as tx:
            tx.append(TEXT, texts(0))
        repo.branches.create("side")
        with repo.transaction("side") as tx:
            if changes == "updates":
                tx.upsert(TEXT, texts(1))
            else:
                tx.delete(TEXT, "true")
        with repo.transaction() as tx:
            tx.append(TEXT, [{"id": "new", "text": "", "of": 1}])
        told = repo.branches.merge("side").tables[TEXT]
        assert (told.updated, told.deleted) == ((ROWS, 0) if changes == "updates" else (0, ROWS))
        assert repo.snapshot().tables[TEXT].row_count == 1 + told.updated
    assert 0 < max(looks) < MOST


def test_edges_that_may_have_lost_a_node(tmp_path: Path, looks: list[int]) -> None:
    """Those of the target are looked at where a node goes."""
    with Repository.init(tmp_path / "r", SCHEMA, durability="none") as repo:
        with repo.transaction() as tx:
            tx.append(TEXT, [{"id": each} for each in ("a", "b", "c")])
        repo.branches.create("side")
        with repo.transaction() as tx:
            ids = [f"e{each}" for each in range(ROWS)]
            note = ["".ljust(WIDTH)] * ROWS
            ends = {"src": ["a"] * ROWS, "dst": ["b"] * ROWS}
            tx.append(CITES, pa.table({"id": ids, **ends, "note": note}))
        with repo.transaction("side") as tx:
            tx.delete(TEXT, ids=["c"])
        repo.branches.merge("side")
    assert 0 < max(looks) < MOST


def test_nodes_at_which_new_edges_end(tmp_path: Path, looks: list[int]) -> None:
    """They are looked at to see whether they are there."""
    with Repository.init(tmp_path / "r", SCHEMA, durability="none") as repo:
        repo.branches.create("side")
        with repo.transaction("side") as tx:
            tx.append(TEXT, texts(0))
            ids = [f"t{each}" for each in range(ROWS)]
            tx.append(CITES, pa.table({"id": ids, "src": ids, "dst": ids}))
        with repo.transaction() as tx:
            tx.append(TEXT, [{"id": "own"}])
        assert repo.branches.merge("side").tables[CITES].inserted == ROWS
    assert 0 < max(looks) < MOST
