"""What lies in a dataset, what cleaning would remove, and that it removes just that."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph_l1 import Storage, Table, list_objects, remove_object
from omnigraph_testing import S3Store

BOTH = ["local", pytest.param("s3", marks=pytest.mark.integration)]
_DAY = 86_400


@pytest.fixture(params=BOTH)
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """A location for a dataset, in each kind of store."""
    if request.param == "local":
        return Storage.resolve(tmp_path / "t")
    store: S3Store = request.getfixturevalue("s3_store")
    return Storage.resolve(store.uri("t"), store.storage_options)


def filled(storage: Storage) -> Table:
    """Make a dataset with versions 1 to 4, of which 4 replaces all rows."""
    table = Table.create(storage, pa.schema([pa.field("id", pa.string())]))
    for name in ("a", "b"):
        table = table.append(pa.table({"id": [name]})).table
    return table.overwrite(pa.table({"id": ["c"]})).table


def test_versions_are_listed_with_their_times(storage: Storage) -> None:
    """On main and on a branch, oldest first; times rise."""
    table = filled(storage)
    side = table.at(3).fork("side").append(pa.table({"id": ["d"]})).table
    files = table.version_files()
    assert [each.version for each in files] == [1, 2, 3, 4]
    assert [each.version for each in side.version_files()] == [3, 4]
    assert all(each.size > 0 for each in files)
    assert sorted(each.modified for each in files) == [each.modified for each in files]


def test_what_would_be_removed_is_removed(storage: Storage) -> None:
    """The explanation changes nothing, and says what removing does."""
    table = filled(storage)
    told = table.explain_removal([1, 2])
    assert [each.version for each in table.version_files()] == [1, 2, 3, 4]
    assert table.remove_versions([1, 2]) == told
    assert told.versions == 2
    assert told.bytes > 0
    assert [each.version for each in table.version_files()] == [3, 4]
    assert table.at(3).count() == 2


def test_objects_are_listed_and_removed(storage: Storage) -> None:
    """Each with its size; one that is gone already is no error; no location is no object."""
    filled(storage)
    versions = storage.child("_versions")
    named = {each.name: each.size for each in list_objects(versions)}
    first = max(name for name in named if name.endswith(".manifest"))
    remove_object(versions, first)
    remove_object(versions, first)
    left = {each.name for each in list_objects(versions)}
    assert named.keys() - left == {first}
    assert list(list_objects(storage.child("nowhere"))) == []
    assert {each.name for each in list_objects(storage)} >= {f"_versions/{name}" for name in left}


def test_only_old_orphans_are_removed(tmp_path: Path) -> None:
    """A file that no version names may be of a writer at work, for a week."""
    table = filled(Storage.resolve(tmp_path / "t"))
    files = set((tmp_path / "t" / "data").iterdir())
    for _ in range(2):
        table.write(pa.table({"id": ["staged"]}))
    young, old = sorted(set((tmp_path / "t" / "data").iterdir()) - files)
    long_ago = time.time() - 8 * _DAY
    os.utime(old, (long_ago, long_ago))
    assert table.explain_removal([]).data_files == 1
    assert table.remove_orphans().data_files == 1
    assert (young.exists(), old.exists()) == (True, False)
    assert table.count() == 1


def test_the_head_is_found_behind_what_was_removed(tmp_path: Path) -> None:
    """Also from an old version that was kept alone, and however many are gone after it."""
    table = Table.create(
        tmp_path / "t", pa.schema([pa.field("id", pa.string())]), durability="none"
    )
    kept = table.append(pa.table({"id": ["kept"]})).table
    head = kept
    for number in range(80):
        head = head.append(pa.table({"id": [f"{number}"]})).table
    long_ago = time.time() - _DAY
    for file in (tmp_path / "t" / "_versions").glob("*.manifest"):
        os.utime(file, (long_ago, long_ago))
    old = Table.open(tmp_path / "t", version=kept.version)
    head = Table.open(tmp_path / "t")
    head.remove_versions(range(kept.version + 1, head.version))
    assert old.refresh().version == head.version
    assert old.refresh().append(pa.table({"id": ["on"]})).follows_base
