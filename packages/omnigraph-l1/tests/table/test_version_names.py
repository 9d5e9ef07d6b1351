"""Datasets whose version files have names of the old kind: they open, and can be renamed."""

from __future__ import annotations

import os
from pathlib import Path

import lance
import pytest
from people import SCHEMA, ids, rows, version_name

from omnigraph_l1 import Storage, Table, list_objects, migrate_version_names, read_object
from omnigraph_l1.errors import (
    DatasetNotFound,
    MixedVersionNames,
    NotADataset,
    RenamedVersions,
)
from omnigraph_l1.failpoints import handling

OLD, NEW = "as Lance once did", "as it does today"


class CutShort(Exception):
    """The process ends here."""


@pytest.fixture
def old(storage: Storage) -> Storage:
    """A dataset of four versions, a row in each but the first, named as Lance once did."""
    options = {"storage_options": storage.lance_options, "enable_v2_manifest_paths": False}
    dataset = lance.write_dataset(SCHEMA.empty_table(), storage.location.uri, **options)
    for name in "abc":
        dataset = lance.write_dataset(rows(name), dataset, mode="append")
    return storage


def names(storage: Storage) -> dict[str, list[int]]:
    """List the versions by how their files are named."""
    listed = (each.name.partition(".") for each in list_objects(storage.child("_versions")))
    numbers = [int(stem) for stem, _, ending in listed if ending == "manifest"]
    return {
        OLD: sorted(number for number in numbers if number < 2**63),
        NEW: sorted(2**64 - 1 - number for number in numbers if number >= 2**63),
    }


def test_it_opens_and_goes_on(old: Storage) -> None:
    """Reads, commits, branches and removals, in the names that are there."""
    table = Table.open(old)
    assert (table.version, table.versions()) == (4, [1, 2, 3, 4])
    table = table.append(rows("d")).table.upsert(rows("a", age=2), key="id").table
    branch = table.fork("side", fresh=True).append(rows("x")).table
    assert Table.open(old, branch="side").count() == branch.count() == 5
    assert table.refresh() is table
    assert Table.open(old, version=2).count() == 1
    table.remove_versions([2])
    assert names(old) == {OLD: [1, 3, 4, 5, 6], NEW: []}
    assert ids(Table.open(old).read()) == ["a", "b", "c", "d"]


def test_renaming_changes_nothing_but_names(old: Storage) -> None:
    """Every version is there, with the same content; a second call has nothing to do."""
    before = {version: Table.open(old, version=version).read() for version in range(1, 5)}
    assert migrate_version_names(old) == 4
    assert names(old) == {OLD: [], NEW: [1, 2, 3, 4]}
    assert migrate_version_names(old) == 0
    table = Table.open(old)
    assert {version: table.at(version).read() for version in range(1, 5)} == before
    table = table.append(rows("d")).table
    assert names(old) == {OLD: [], NEW: [1, 2, 3, 4, 5]}
    assert [record.operation for record in table.history(limit=2)] == ["Append", "Append"]


@pytest.mark.parametrize("point", ["l1.names.both", "l1.names.renamed"])
@pytest.mark.parametrize("hit", [1, 3, 4])
def test_cut_short_it_goes_on(old: Storage, point: str, hit: int) -> None:
    """Wherever it ends: no version is lost, the newest is refused or right, and it can go on."""
    hits = 0

    def end(name: str) -> None:
        nonlocal hits
        hits += name == point
        if hits == hit:
            raise CutShort

    with handling(end), pytest.raises(CutShort):
        migrate_version_names(old)
    found = names(old)
    assert set(found[OLD]) | set(found[NEW]) == {1, 2, 3, 4}
    try:
        newest = Table.open(old)
    except MixedVersionNames:
        assert found[OLD]
    else:
        assert not (found[OLD] and old.location.is_local)
        assert ids(newest.read()) == ["a", "b", "c"]
    assert Table.open(old, version=2).count() == 1
    migrate_version_names(old)
    assert names(old) == {OLD: [], NEW: [1, 2, 3, 4]}
    assert ids(Table.open(old).read()) == ["a", "b", "c"]


def test_a_writer_from_before_loses_nothing(old: Storage) -> None:
    """It goes on under the old names, which is mended by calling it again. On local disk nobody is
    misled meanwhile; in a store its commit is not seen.
    """
    options = old.lance_options
    writer = lance.dataset(old.location.uri, storage_options=options)
    migrate_version_names(old)
    lance.write_dataset(rows("late"), writer, mode="append")
    assert names(old) == {OLD: [5], NEW: [1, 2, 3, 4]}
    if old.location.is_local:
        with pytest.raises(MixedVersionNames):
            Table.open(old)
    else:
        assert Table.open(old).version == 4
    assert migrate_version_names(old) == 1
    assert ids(Table.open(old).read()) == ["a", "b", "c", "late"]


def test_two_versions_of_one_number_are_not_made_one(old: Storage) -> None:
    """Lance's own migration puts one in the place of the other. Nothing is renamed before."""
    folder = old.child("_versions")
    other = read_object(folder, "3.manifest")
    assert other is not None
    put(folder, version_name(4), other)
    with pytest.raises(MixedVersionNames, match=r"4\.manifest and 1844\d+\.manifest are two"):
        migrate_version_names(old)
    assert names(old) == {OLD: [1, 2, 3, 4], NEW: [4]}


def test_who_keeps_writing_is_told(old: Storage) -> None:
    """A version under the old names after each round: it does not go on for ever."""
    writer = lance.dataset(old.location.uri, storage_options=old.lance_options)

    def interfere(name: str) -> None:
        if name == "l1.names.renamed" and names(old)[OLD] == []:
            lance.write_dataset(rows("x"), writer, mode="append")

    with handling(interfere), pytest.raises(MixedVersionNames, match="in each of 10 rounds"):
        migrate_version_names(old)
    migrate_version_names(old)
    assert Table.open(old).count("id = 'x'") == 10


def test_our_handle_from_before_does_not_write(tmp_path: Path) -> None:
    """On local disk it is refused, reads on, and works when it is opened again."""
    location = tmp_path / "old"
    lance.write_dataset(rows("a"), location, enable_v2_manifest_paths=False)
    before = Table.open(location)
    staged = before.stage_append(rows("b"))
    migrate_version_names(location)
    with pytest.raises(RenamedVersions, match="Open it again"):
        before.commit(staged)
    assert ids(before.read()) == ["a"]
    assert names(Storage.resolve(location))[OLD] == []
    assert Table.open(location).commit(staged).follows_base


def test_the_version_file_is_flushed_under_its_old_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit is not acknowledged before the file of its version is on disk."""
    location = tmp_path / "old"
    lance.write_dataset(rows("a"), location, enable_v2_manifest_paths=False)
    table = Table.open(location)
    flushed: list[str] = []

    def recorded(descriptor: int) -> None:
        flushed.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    monkeypatch.setattr(os, "fsync", recorded)
    table.append(rows("b"))
    assert "2.manifest" in flushed
    assert table.manifest_path.endswith("/_versions/1.manifest")


def test_what_is_no_dataset(tmp_path: Path) -> None:
    """It is told, and nothing is made."""
    with pytest.raises(DatasetNotFound):
        migrate_version_names(tmp_path / "nothing")
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADataset):
        migrate_version_names(tmp_path)


def put(folder: Storage, name: str, content: bytes) -> None:
    """Write a file in any kind of store."""
    if folder.location.is_local:
        (folder.location.local_path / name).write_bytes(content)
    else:
        folder.object_store().put(name, content)
