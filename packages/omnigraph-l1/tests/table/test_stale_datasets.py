"""A handle whose dataset was deleted, and perhaps made again: it must not write into another."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import obstore
import pytest
from people import SCHEMA, ids, rows

from omnigraph_l1 import Storage, Table
from omnigraph_l1.errors import DatasetNotFound, InvalidRequest, L1Error, StaleBranch, StaleDataset

WRITES: dict[str, Callable[[Table], object]] = {
    "append": lambda table: table.append(rows("x")),
    "upsert": lambda table: table.upsert(rows("a", "x"), "id"),
    "overwrite": lambda table: table.overwrite(rows("x")),
    "merge": lambda table: table.cas_merge(rows("x"), key="id", write_id="w"),
    "fence": lambda table: table.fence(),
    "restore": lambda table: table.restore(1),
    "compact": lambda table: table.compact(),
    "index": lambda table: table.create_index("id"),
    "fork": lambda table: table.fork("side.1"),
    "tag": lambda table: table.tag("v"),
    "remove_versions": lambda table: table.remove_versions([1, 2]),
    "delete": lambda table: table.delete("true"),
    "delete_branch": lambda table: table.delete_branch("kept.1"),
    "delete_tag": lambda table: table.delete_tag("kept"),
}


def made(location: object, versions: int, name: str) -> Table:
    """Make a table of so many versions, with a row in each after the first."""
    table = Table.create(location, SCHEMA)  # type: ignore[arg-type]
    for number in range(versions - 1):
        table = table.append(rows(f"{name}{number}")).table
    return table


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("versions", [1, 2, 3, 5])
def test_a_dataset_that_was_made_again(tmp_path: Path, versions: int, write: str) -> None:
    """Whether it has fewer versions than the old one, as many, or more: nothing reaches it."""
    stale = made(tmp_path / "t", 3, "old")
    staged = stale.stage_append(rows("x"))
    shutil.rmtree(tmp_path / "t")
    other = made(tmp_path / "t", versions, "new")
    other.tag("kept")
    other.fork("kept.1")
    for attempt in (lambda: WRITES[write](stale), lambda: stale.commit(staged)):
        with pytest.raises(StaleDataset, match="version 3") as caught:
            attempt()
        assert caught.value.location == str(stale.location)
    found = Table.open(tmp_path / "t")
    assert (found.version, ids(found.read())) == (other.version, ids(other.read()))
    assert found.versions() == list(range(1, versions + 1))
    assert (list(found.tags()), list(found.branches())) == (["kept"], ["kept.1"])


@pytest.mark.parametrize("versions", [1, 3, 5])
def test_it_is_not_refreshed_to_the_other(tmp_path: Path, versions: int) -> None:
    """The rows of another dataset are not the newer version of these."""
    stale = made(tmp_path / "t", 3, "old")
    shutil.rmtree(tmp_path / "t")
    made(tmp_path / "t", versions, "new")
    with pytest.raises(StaleDataset):
        stale.refresh()


@pytest.mark.parametrize(
    "again", [lambda table: table.at(2), lambda table: pickle.loads(pickle.dumps(table))]
)
def test_no_way_leads_from_a_stale_handle_to_the_other(
    tmp_path: Path, again: Callable[[Table], Table]
) -> None:
    """Neither another version of it, nor its copy in another process."""
    stale = made(tmp_path / "t", 3, "old")
    assert again(stale).count() >= 1
    shutil.rmtree(tmp_path / "t")
    made(tmp_path / "t", 5, "new")
    with pytest.raises(StaleDataset):
        again(stale)


@pytest.mark.parametrize("durability", ["full", "none"])
def test_files_of_the_old_dataset_are_not_committed_to_the_other(
    tmp_path: Path, durability: str
) -> None:
    """They are gone: an acknowledged version would name them, and could not be read."""
    old = Table.create(tmp_path / "t", SCHEMA, durability=durability).append(rows("a")).table
    staged, written = old.stage_append(rows("b")), old.write(rows("c"))
    shutil.rmtree(tmp_path / "t")
    new = Table.create(tmp_path / "t", SCHEMA, durability=durability).append(rows("n")).table
    for change in (staged, new.stage_written([written])):
        with pytest.raises(InvalidRequest, match="is gone"):
            new.commit(change)
    assert new.refresh() is new
    assert ids(Table.open(tmp_path / "t").read()) == ["n"]


@pytest.mark.parametrize("write", WRITES)
def test_a_dataset_that_was_deleted(tmp_path: Path, write: str) -> None:
    """It is told, and no lone version is left where it was."""
    stale = made(tmp_path / "t", 3, "old")
    shutil.rmtree(tmp_path / "t")
    with pytest.raises(L1Error):
        WRITES[write](stale)
    with pytest.raises(L1Error):
        stale.refresh()
    assert not list(tmp_path.rglob("*.manifest"))


def test_a_deleted_dataset_is_not_found(tmp_path: Path) -> None:
    """By refreshing and by committing alike."""
    stale = made(tmp_path / "t", 3, "old")
    staged = stale.stage_append(rows("x"))
    shutil.rmtree(tmp_path / "t")
    for attempt in (stale.refresh, lambda: stale.commit(staged), lambda: stale.restore(1)):
        with pytest.raises(DatasetNotFound):
            attempt()


def test_a_version_that_was_cleaned_away_is_no_sign(tmp_path: Path) -> None:
    """Others went on and removed the version of the handle: it is the same dataset."""
    early = made(tmp_path / "t", 3, "old").at(2)
    early.refresh().append(rows("more")).table.remove_versions([2])
    assert ids(early.append(rows("x")).table.read()) == ["more", "old0", "old1", "x"]


def test_another_dataset_that_cleaned_the_version_away(tmp_path: Path) -> None:
    """Where the file of the version cannot tell, the directory does."""
    stale = made(tmp_path / "t", 3, "old").at(2)
    (tmp_path / "t").rename(tmp_path / "aside")
    other = made(tmp_path / "t", 5, "new")
    other.remove_versions([2])
    with pytest.raises(StaleDataset):
        stale.append(rows("x"))
    assert other.refresh() is other


def test_a_copy_that_was_brought_back_is_the_dataset(tmp_path: Path) -> None:
    """A copy that kept the times of its files stands for what was there."""
    table = made(tmp_path / "t", 3, "old")
    shutil.copytree(tmp_path / "t", tmp_path / "copy")
    shutil.rmtree(tmp_path / "t")
    (tmp_path / "copy").rename(tmp_path / "t")
    assert ids(table.append(rows("x")).table.read()) == ["old0", "old1", "x"]


def test_a_branch_of_a_dataset_that_was_made_again(storage: Storage) -> None:
    """Though it bears the same name at the same version: in each kind of store."""
    stale = made(storage, 2, "old").fork("side.1")
    forget(storage)
    made(storage, 2, "new").fork("side.1")
    with pytest.raises((StaleBranch, StaleDataset)):
        stale.append(rows("x"))
    assert ids(Table.open(storage, branch="side.1").read()) == ["new0"]


def test_fewer_versions_than_before_are_told_in_each_kind_of_store(storage: Storage) -> None:
    """Numbers never go down in one dataset: that is seen wherever the head is looked for."""
    stale = made(storage, 3, "old")
    staged = stale.stage_overwrite(rows("x"))
    forget(storage)
    made(storage, 2, "new")
    for attempt in (stale.refresh, lambda: stale.restore(1), lambda: stale.commit(staged)):
        with pytest.raises(StaleDataset):
            attempt()
    assert ids(Table.open(storage).read()) == ["new0"]


def forget(storage: Storage) -> None:
    """Delete a dataset without asking anybody."""
    if storage.location.is_local:
        shutil.rmtree(storage.location.local_path)
        return
    objects = storage.object_store()
    paths = [entry["path"] for batch in obstore.list(objects) for entry in batch]
    obstore.delete(objects, paths)
