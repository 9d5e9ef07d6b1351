"""Opening: what is there is opened as asked for, and what is not is named."""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path

import pytest
from people import SCHEMA, ids, rows

from omnigraph_l1 import Storage, Table
from omnigraph_l1.errors import (
    DatasetExists,
    DatasetNotFound,
    MovedDataset,
    NotADataset,
    UnknownBranch,
    UnknownVersion,
)


def test_versions_and_heads(table: Table, storage: Storage) -> None:
    """A version is what it was; the head is what was committed last."""
    second = table.append(rows("a")).table
    third = second.append(rows("b")).table
    assert ids(Table.open(storage, version=second.version).read()) == ["a"]
    assert Table.open(storage).version == third.version
    assert ids(third.at(second.version).read()) == ["a"]
    assert third.versions() == [1, 2, 3]


def test_a_table_is_created_with_its_config(storage: Storage) -> None:
    """What was asked for is there when it is opened again."""
    Table.create(storage, SCHEMA, config={"table_version_management": "true"})
    assert Table.open(storage).dataset.config()["table_version_management"] == "true"


def test_a_handle_on_a_branch_travels_too(table: Table) -> None:
    """Pickled, it opens the same version of the same branch."""
    branch = table.fork("side.1").append(rows("a")).table
    again = pickle.loads(pickle.dumps(branch))
    assert (again.branch, again.version) == ("side.1", branch.version)
    assert ids(again.read()) == ["a"]


def test_refresh_finds_what_others_committed(table: Table, storage: Storage) -> None:
    """A kept handle sees the new head when it looks, and not before."""
    Table.open(storage).append(rows("a"))
    assert table.count() == 0
    assert ids(table.refresh().read()) == ["a"]
    newest = table.refresh()
    assert newest.refresh() is newest


def test_there_is_nothing(storage: Storage) -> None:
    """An empty location has no dataset."""
    with pytest.raises(DatasetNotFound) as caught:
        Table.open(storage)
    assert caught.value.location == str(storage.location)


def test_there_is_something_else(tmp_path: Path) -> None:
    """A folder of other files, and a file, are told from an empty location."""
    (tmp_path / "notes.txt").write_text("text")
    with pytest.raises(NotADataset, match=r"notes\.txt"):
        Table.open(tmp_path)
    with pytest.raises(NotADataset, match="a file"):
        Table.open(tmp_path / "notes.txt")
    with pytest.raises(NotADataset):
        Table.open(tmp_path / "notes.txt" / "below")


@pytest.mark.parametrize("left", ["_transactions/0-0.txn", "_versions/1.manifest#1"])
def test_a_creation_that_was_cut_short(tmp_path: Path, left: str) -> None:
    """Before its first version there is no dataset; the next creation makes it."""
    location = tmp_path / "table"
    (location / left).parent.mkdir(parents=True)
    (location / left).write_bytes(b"")
    with pytest.raises(DatasetNotFound):
        Table.open(location)
    assert Table.create(location, SCHEMA).append(rows("a")).table.count() == 1


def test_creating_never_writes_over_anything(table: Table, storage: Storage) -> None:
    """Not over a dataset, and not into a folder of other files."""
    table.append(rows("a"))
    with pytest.raises(DatasetExists):
        Table.create(storage, SCHEMA)
    assert ids(Table.open(storage).read()) == ["a"]


def test_creating_in_a_folder_of_other_files_is_refused(tmp_path: Path) -> None:
    """What is not a dataset is left alone."""
    (tmp_path / "notes.txt").write_text("text")
    with pytest.raises(NotADataset):
        Table.create(tmp_path, SCHEMA)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_version_that_is_not_there(table: Table, storage: Storage) -> None:
    """Never written, or removed: both are named, on main and on a branch."""
    branch = table.append(rows("a")).table.fork("side.1")
    for attempt in (
        lambda: Table.open(storage, version=99),
        lambda: table.at(99),
        lambda: Table.open(storage, branch="side.1", version=99),
        lambda: branch.at(99),
    ):
        with pytest.raises(UnknownVersion) as caught:
            attempt()
        assert caught.value.version == 99


@pytest.mark.parametrize("version", [-1, 0, 2**64])
def test_numbers_that_are_no_versions(local: Table, version: int) -> None:
    """They were never written either."""
    for attempt in (
        lambda: Table.open(local.location, version=version),
        lambda: local.at(version),
    ):
        with pytest.raises(UnknownVersion):
            attempt()


def test_a_removed_version_is_unknown(table: Table) -> None:
    """Exactly the versions that were named are removed, and the others read as before."""
    last = table.append(rows("a")).table.append(rows("b")).table.compact().table
    assert last.remove_versions([2, 3]).versions == 2
    with pytest.raises(UnknownVersion):
        last.at(2)
    assert ids(last.read()) == ["a", "b"]
    assert 2 not in last.versions()


def test_a_branch_that_is_not_there(table: Table, storage: Storage) -> None:
    """An unknown branch is named."""
    with pytest.raises(UnknownBranch) as caught:
        Table.open(storage, branch="nobody")
    assert caught.value.branch == "nobody"
    with pytest.raises(UnknownBranch):
        table.delete_branch("nobody")


@pytest.mark.parametrize("gone", [True, False], ids=["moved", "copied"])
def test_a_dataset_elsewhere(local: Table, tmp_path: Path, *, gone: bool) -> None:
    """Main opens wherever it is; a branch, which would read the files of old, is refused."""
    local = local.append(rows("a")).table
    local.fork("side.1")
    old, new = local.location.local_path, tmp_path / "elsewhere"
    if gone:
        shutil.move(old, new)
    else:
        shutil.copytree(old, new)
    assert ids(Table.open(new).read()) == ["a"]
    with pytest.raises(MovedDataset) as caught:
        Table.open(new, branch="side.1")
    assert caught.value.recorded == str(old)


def test_a_link_to_a_dataset_is_the_dataset(local: Table, tmp_path: Path) -> None:
    """A location may be reached by a symbolic link."""
    local.append(rows("a"))
    (tmp_path / "link").symlink_to(local.location.local_path)
    assert ids(Table.open(tmp_path / "link").read()) == ["a"]


def test_the_head_is_found_without_listing_the_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a handle that is near, and from one that is far behind: the cost is how far."""
    table = Table.create(tmp_path / "t", SCHEMA, durability="none")
    handles = [table]
    for _ in range(150):
        handles.append(handles[-1].restore(1).table)

    def listing(directory: Path) -> None:
        pytest.fail(f"{directory} was listed")

    for name in ("scandir", "listdir"):
        monkeypatch.setattr(os, name, listing)
    for handle in (handles[-1], handles[-2], handles[40], handles[0]):
        assert handle.refresh().version == 151
    assert handles[-1].append(rows("ann")).version == 152
