"""Indexes of every kind: they are used, they are extended, and they change no answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from omnigraph_l1 import IndexKind, Table
from omnigraph_l1.errors import InvalidData

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("kind", pa.int32()),
        pa.field("text", pa.string()),
        pa.field("vector", pa.list_(pa.float32(), 4)),
    ]
)
COLUMNS = {
    IndexKind.BTREE: "id",
    IndexKind.BITMAP: "kind",
    IndexKind.ZONEMAP: "kind",
    IndexKind.BLOOMFILTER: "id",
    IndexKind.NGRAM: "text",
    IndexKind.INVERTED: "text",
    IndexKind.IVF_FLAT: "vector",
}


def rows(start: int, count: int) -> pa.Table:
    """Make rows whose vectors lie on a line, a step apart."""
    numbers = range(start, start + count)
    columns: dict[str, list[Any]] = {
        "id": [f"{n:05}" for n in numbers],
        "kind": [n % 7 for n in numbers],
        "text": [f"word{n} common" for n in numbers],
        "vector": [[float(n), 0.0, 0.0, 0.0] for n in numbers],
    }
    return pa.table(columns, schema=SCHEMA)


def answers(table: Table) -> list[list[str]]:
    """Ask what each kind of index could help with."""
    dataset = table.dataset
    near = {"column": "vector", "q": pa.array([250.2, 0.0, 0.0, 0.0], pa.float32()), "k": 3}
    asked: list[dict[str, Any]] = [
        {"filter": "id = '00250'"},
        {"filter": "kind = 3"},
        {"filter": "contains(text, 'word25')"},
        {"nearest": {**near, "nprobes": 100}},
    ]
    if any(info.kind == "INVERTED" for info in table.indexes().values()):
        asked.append({"full_text_query": "word250"})  # without its index Lance refuses it
    found = [dataset.to_table(columns=["id"], **each)["id"].to_pylist() for each in asked]
    return [sorted(each) for each in found]


@pytest.mark.parametrize("kind", IndexKind)
def test_an_index_of_each_kind(tmp_path: Path, kind: IndexKind) -> None:
    """It covers all rows when it is made, and again when it is extended."""
    plain, indexed = (
        Table.create(tmp_path / name, SCHEMA, durability="none").append(rows(0, 400)).table
        for name in ("plain", "indexed")
    )
    indexed = indexed.create_index(COLUMNS[kind], kind, name="it").table
    assert indexed.indexes()["it"].unindexed_fragments == 0
    assert answers(indexed)[:4] == answers(plain)
    assert all(each == ["00250"] for each in answers(indexed)[4:])
    plain, later = (each.append(rows(400, 50)).table for each in (plain, indexed))
    assert later.indexes()["it"].unindexed_fragments == 1
    assert answers(later)[:4] == answers(plain)
    extended = later.extend_index("it").table
    info = extended.indexes()["it"]
    assert (info.kind, info.unindexed_fragments) == (kind.value, 0)
    assert answers(extended)[:4] == answers(plain)
    forked = extended.fork("side")
    assert forked.indexes()["it"].unindexed_fragments == 0
    assert answers(forked) == answers(extended)


@pytest.mark.parametrize("kind", IndexKind)
def test_compacting_a_branch_that_has_an_index_of_its_parent(
    tmp_path: Path, kind: IndexKind
) -> None:
    """The index goes on giving right answers, for what it covers and for what came later."""
    plain, indexed = (
        Table.create(tmp_path / name, SCHEMA, durability="none").append(rows(0, 400)).table
        for name in ("plain", "indexed")
    )
    indexed = indexed.create_index(COLUMNS[kind], kind, name="it").table.fork("side")
    for start in (400, 450):
        plain, indexed = (each.append(rows(start, 50)).table for each in (plain, indexed))
    plain, indexed = (each.delete("id < '00200'").table for each in (plain, indexed))
    for _ in range(2):
        before = len(indexed.fragments())
        indexed = indexed.compact().table
        assert len(indexed.fragments()) <= before
        assert answers(indexed)[:4] == answers(plain)
        assert all(each == ["00250"] for each in answers(indexed)[4:])
        indexed = indexed.extend_index("it").table
        assert answers(indexed)[:4] == answers(plain)
    assert len(indexed.fragments()) == 2
    indexed = indexed.append(rows(500, 300)).table.extend_index("it").table.compact().table
    assert answers(indexed)[3] == ["00249", "00250", "00251"]


def test_a_vector_index_of_what_is_no_vector(tmp_path: Path) -> None:
    """It is refused by name, and nothing has changed."""
    table = Table.create(tmp_path / "t", SCHEMA, durability="none").append(rows(0, 10)).table
    with pytest.raises(InvalidData, match="fixed-size lists of floats"):
        table.create_index("text", IndexKind.IVF_FLAT)
    assert table.refresh().version == table.version
