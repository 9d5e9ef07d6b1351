"""Which rows are deleted, read from Lance's own files, beside what a scan leaves."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph_l1 import Table

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False)])
ROWS = 200_000

PATTERNS = {
    "none": ["false"],
    "one": ["id = 3"],
    "a list": ["id % 1000 = 7"],
    "a long list": ["id % 50 = 7"],
    "bits": ["id % 2 = 0"],
    "a run": ["id >= 10 AND id < 150000"],
    "runs and bits": ["id % 1000 < 400", "id >= 65536 AND id < 131072 AND id % 3 = 0"],
    "the last ones": [f"id > {ROWS - 70_000}"],
    "nearly all": ["id != 100000"],
}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Return a table with one large fragment."""
    made = Table.create(tmp_path / "t", SCHEMA, durability="none")
    return made.append(pa.table({"id": range(ROWS)}, schema=SCHEMA)).table


def check(table: Table) -> None:
    """Compare with what is left."""
    left = table.read()["id"].to_pylist()
    gone = table.deleted_rows(0)
    assert gone is not None
    assert sorted(gone.to_pylist()) == sorted(set(range(ROWS)).difference(left))


@pytest.mark.parametrize("predicates", PATTERNS.values(), ids=PATTERNS)
def test_deleted_rows(table: Table, predicates: list[str]) -> None:
    """However few or many they are, and however they lie."""
    for predicate in predicates:
        table = table.delete(predicate).table
        check(table)


def test_on_branches(table: Table) -> None:
    """A branch may show the file of the lineage that it came from, or its own."""
    one = table.delete("id % 2 = 0").table.fork("one")
    check(one)
    two = one.delete("id % 3 = 0").table.fork("x/two")
    check(two)
    check(two.delete("id % 5 = 0").table)


def test_runs(table: Table) -> None:
    """The format knows runs of numbers, which this Lance does not write."""
    table = table.delete("id % 2 = 0").table
    runs = struct.pack("<HHH", 1, 0, 65_535), struct.pack("<HHHHH", 2, 0, 1, 10, 34_461)
    heads = struct.pack("<HHHH", 0, 65_535, 1, 34_463)
    (file,) = (Path(str(table.location)) / "_deletions").iterdir()
    file.write_bytes(struct.pack("<IB", 12347 | 1 << 16, 0b11) + heads + b"".join(runs))
    gone = table.deleted_rows(0)
    assert gone is not None
    assert gone.to_pylist() == [*range(65_538), *range(65_546, 100_008)]


def test_a_kind_that_is_not_known(table: Table) -> None:
    """It cannot be told what a file means that is written in another way."""
    table = table.delete("id % 2 = 0").table
    (file,) = (Path(str(table.location)) / "_deletions").iterdir()
    file.write_bytes(b"\x01" * 8)
    assert table.deleted_rows(0) is None
