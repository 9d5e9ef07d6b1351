"""What two versions have in common, told without reading a row."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
import pytest

from omnigraph_l1 import Table

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("age", pa.int32())])


def rows(*ids: str) -> pa.Table:
    """Make rows with these ids."""
    return pa.table({"id": list(ids), "age": [1] * len(ids)}, schema=SCHEMA)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Return a table with one row."""
    return Table.create(tmp_path / "t", SCHEMA).append(rows("a")).table


def test_a_lineage_shares_all_versions_with_itself(table: Table) -> None:
    """On main, and on a branch."""
    assert table.common_version(table.append(rows("b")).table) is None
    branch = table.fork("branch")
    assert branch.common_version(branch.append(rows("b")).table) is None


def test_branches_share_what_came_before_they_parted(table: Table) -> None:
    """Whatever is between them, and whichever is asked."""
    one = table.fork("one").append(rows("b")).table
    two = one.append(rows("c")).table.fork("two").append(rows("d")).table
    three = one.fork("three").append(rows("d")).table
    later = table.append(rows("e")).table
    four = later.fork("four")
    start = table.version
    expected = {
        (table, one): start,
        (later, two): start,
        (one, two): start + 2,
        (one, three): start + 1,
        (two, three): start + 1,
        (two, four): start,
        (later, four): start + 1,
    }
    for (first, second), version in expected.items():
        assert first.common_version(second) == version
        assert second.common_version(first) == version


def test_other_datasets_share_nothing(table: Table, tmp_path: Path) -> None:
    """Though their versions bear the same numbers."""
    other = Table.create(tmp_path / "u", SCHEMA).append(rows("a")).table
    assert table.common_version(other) == 0


def test_columns_are_told_apart(table: Table) -> None:
    """A column that stays is the same, one that came back is another."""
    back = table.drop_columns(["age"]).table.add_columns([SCHEMA.field("age")]).table
    assert table.columns().keys() == {"id", "age"}
    assert back.columns()["id"] == table.columns()["id"]
    assert back.columns()["age"] != table.columns()["age"]


def test_deletions_are_told_apart(table: Table) -> None:
    """The same file with other rows deleted is not the same fragment."""
    two = table.append(rows("b", "c", "d")).table
    one_gone = two.delete_keys("id", ["b"]).table
    two_gone = one_gone.delete_keys("id", ["c"]).table
    marks = [each.fragment_files()[1].deletions for each in (two, one_gone, two_gone)]
    assert marks[0] is None
    assert len(set(marks)) == 3


def test_row_ids(table: Table, tmp_path: Path) -> None:
    """Our datasets have them, those of others may lack them."""
    assert table.has_row_ids
    lance.write_dataset(rows("a"), tmp_path / "u")
    assert not Table.open(tmp_path / "u").has_row_ids
