"""Whether two versions of a table have the same columns, by what data files mean by them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from omnigraph_l1 import Table

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("age", pa.int32())])


def test_rows_do_not_matter(tmp_path: Path) -> None:
    """Versions with other rows have the same columns."""
    table = Table.create(tmp_path / "t", SCHEMA)
    later = table.append(pa.table({"id": ["a"], "age": [1]}, schema=SCHEMA)).table
    assert table.same_columns(later)
    assert later.same_columns(table)
    assert table.same_columns(later.compact().table.fork("branch"))


def test_a_column_that_comes_or_goes_matters(tmp_path: Path) -> None:
    """What was written for one does not fit the other."""
    table = Table.create(tmp_path / "t", SCHEMA)
    wider = table.add_columns([pa.field("nick", pa.string())]).table
    assert not table.same_columns(wider)
    again = wider.drop_columns(["nick"]).table
    assert table.same_columns(again)
    assert not table.same_columns(again.drop_columns(["age"]).table)


def test_a_column_that_came_back_is_another(tmp_path: Path) -> None:
    """It looks the same to Arrow, and has another number, where data files bear the old one."""
    table = Table.create(tmp_path / "t", SCHEMA)
    table = table.append(pa.table({"id": ["a"], "age": [1]}, schema=SCHEMA)).table
    back = table.drop_columns(["age"]).table.add_columns([SCHEMA.field("age")]).table
    assert back.schema.equals(table.schema)
    assert not back.same_columns(table)
