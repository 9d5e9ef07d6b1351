"""Reading some fragments only: what catching up with a growing table stands on."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from omnigraph_l1 import Table

_SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False)])


def _grown(location: Path) -> Table:
    table = Table.create(location, _SCHEMA)
    for start in ("a", "b", "c"):
        rows = pa.table({"id": [f"{start}1", f"{start}2"]}, schema=_SCHEMA)
        table = table.append(rows).table
    return table.delete("id = 'b1'").table


def test_fragments_are_counted_without_deleted_rows(tmp_path: Path) -> None:
    """Each number has the rows that a scan of it would give."""
    table = _grown(tmp_path / "t")
    assert table.fragments() == {0: 2, 1: 1, 2: 2}


def test_only_the_named_fragments_are_read(tmp_path: Path) -> None:
    """Rows of others do not come, a fragment that is not there gives none, no name none at all."""
    table = _grown(tmp_path / "t")
    assert table.read(fragments=[1, 2]).column("id").to_pylist() == ["b2", "c1", "c2"]
    assert table.read(fragments=[1, 99]).column("id").to_pylist() == ["b2"]
    assert table.read(fragments=[]).num_rows == 0


def test_the_versions_at_which_rows_came_are_columns(tmp_path: Path) -> None:
    """They can be read beside those of the table."""
    table = _grown(tmp_path / "t")
    found = table.read(columns=["id", "_row_created_at_version"], filter="id = 'c1'").to_pylist()
    assert found == [{"id": "c1", "_row_created_at_version": 4}]


def test_a_small_target_leaves_large_fragments_with_deletions_alone(tmp_path: Path) -> None:
    """They would be cut into pieces of the target's size otherwise."""
    ids = pa.table({"id": [f"{number:04}" for number in range(1000)]}, schema=_SCHEMA)
    table = Table.create(tmp_path / "t", _SCHEMA).append(ids).table
    table = table.delete("id < '0500'").table
    for number in range(3):
        table = table.append(pa.table({"id": [f"x{number}"]}, schema=_SCHEMA)).table
    compacted = table.compact(target_rows=100, drop_deleted=False).table
    assert sorted(compacted.fragments().values()) == [3, 500]
    assert max(compacted.compact(target_rows=100).table.fragments().values()) < 110


def test_a_range_of_rows_is_read_in_their_order(tmp_path: Path) -> None:
    """Over the borders of fragments, past the end, and without deleted rows."""
    table = _grown(tmp_path / "t")
    assert table.read(offset=1, limit=3).column("id").to_pylist() == ["a2", "b2", "c1"]
    assert table.read(offset=4, limit=9).column("id").to_pylist() == ["c2"]


def test_written_fragments_can_be_added_and_can_replace(tmp_path: Path) -> None:
    """The same files, committed on whatever version is the base then."""
    table = _grown(tmp_path / "t")
    written = table.write(pa.table({"id": ["n1", "n2"]}, schema=_SCHEMA))
    moved = table.append(pa.table({"id": ["late"]}, schema=_SCHEMA)).table
    added = moved.commit(moved.stage_written([written])).table
    assert added.count() == 8
    replacing = added.commit(added.stage_written([written], replace_all=True))
    assert replacing.follows_base
    assert replacing.table.read().column("id").to_pylist() == ["n1", "n2"]


def test_the_manifest_path_names_the_file_of_the_version(tmp_path: Path) -> None:
    """On main and on a branch, as an object store would name it."""
    table = _grown(tmp_path / "t")
    for handle in (table, table.at(2), table.fork("b").delete("id = 'a1'").table):
        assert Path("/", handle.manifest_path).is_file()
        assert not handle.manifest_path.startswith("/")
    assert "/tree/b/_versions/" in handle.manifest_path


def test_the_files_of_fragments_are_named(tmp_path: Path) -> None:
    """Each with whether rows of it are marked as deleted."""
    table = _grown(tmp_path / "t")
    files = table.fragment_files()
    assert {number: found.has_deletions for number, found in files.items()} == {
        0: False,
        1: True,
        2: False,
    }
    for found in files.values():
        assert all((tmp_path / "t" / "data" / name).is_file() for name in found.data)


def test_names_of_files_are_cheap_to_keep(tmp_path: Path) -> None:
    """They are plain text: what Lance gives has a class of its own for each name."""
    for files in _grown(tmp_path / "t").fragment_files().values():
        assert [type(name) for name in files.data] == [str]


def test_batches_can_be_full(tmp_path: Path) -> None:
    """Rows of several fragments come together, and a batch is as large as was asked for."""
    table = _grown(tmp_path / "t")
    assert [len(batch) for batch in table.scan(batch_size=3)] == [2, 1, 2]
    assert [len(batch) for batch in table.scan(batch_size=3, full_batches=True)] == [3, 2]


def test_an_index_tells_where_rows_match(tmp_path: Path) -> None:
    """By fragment, of rows that are there; nothing without an index, nor of more than asked."""
    table = _grown(tmp_path / "t")
    wanted = "id IN ('a1', 'a2', 'b1', 'c2')"
    assert table.matches_by_index(wanted, 9) is None
    indexed = table.create_index("id").table
    assert indexed.matches_by_index(wanted, 3) == {0: 2, 2: 1}
    assert indexed.matches_by_index(wanted, 2) is None
    assert indexed.matches_by_index("id = 'nobody'", 2) == {}
    later = indexed.append(pa.table({"id": ["a0"]}, schema=_SCHEMA)).table
    assert later.matches_by_index("id < 'a2'", 9) == {0: 1, 3: 1}
    assert later.read(filter="id < 'a2'", fragments=[3]).column("id").to_pylist() == ["a0"]
    for use in (True, False):
        reader = later.scan(filter="id < 'a2'", use_index=use)
        assert sorted(reader.read_all()["id"].to_pylist()) == ["a0", "a1"]


def test_the_place_of_a_row_names_its_fragment(tmp_path: Path) -> None:
    """It is a column beside those that were asked for."""
    found = _grown(tmp_path / "t").scan(["id"], with_row_address=True).read_all()
    assert [address >> 32 for address in found["_rowaddr"].to_pylist()] == [0, 0, 1, 2, 2]
    assert found["id"].to_pylist() == ["a1", "a2", "b2", "c1", "c2"]


def test_the_size_of_fragments_is_that_of_their_files(tmp_path: Path) -> None:
    """As the store has them."""
    for files in _grown(tmp_path / "t").fragment_files().values():
        sizes = [(tmp_path / "t" / "data" / name).stat().st_size for name in files.data]
        assert files.size_bytes == sum(sizes) > 0
