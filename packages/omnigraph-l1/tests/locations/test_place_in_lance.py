"""What ``Location.uri`` gives to Lance is where Lance writes, and where obstore looks."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import lance
import pyarrow as pa
import pytest

from omnigraph_l1 import Storage
from omnigraph_testing import S3Store

NAMES = ["a b", "a%20b", "100%", "a#b", "a?b", "ünï人", "a:b", "a+b&c=d", "end ", " start", "a*[b]"]
NAMES += ['a"b', "é", "{a}", "~"]
DATA = pa.table({"id": [1]})


@pytest.mark.parametrize("name", [*NAMES, "back\\slash"])
def test_local_paths(tmp_path: Path, name: str) -> None:
    """Lance makes exactly the directory that a path names, and opens it again."""
    storage = Storage.resolve(tmp_path / name / name)
    lance.write_dataset(DATA, storage.location.uri, storage_options=storage.lance_options)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    assert "_versions" in {entry.name for entry in storage.location.local_path.iterdir()}
    assert lance.dataset(storage.location.uri).count_rows() == 1
    by_uri = Storage.resolve("file://" + quote(str(tmp_path / name / name)))
    assert by_uri == storage
    assert storage.object_store().get(f"_transactions/{_transaction(storage)}").bytes()


def test_keys_in_s3(s3_store: S3Store) -> None:
    """Lance writes under exactly the key that a URI names; obstore, rooted there, finds it."""
    for name in NAMES:
        uri = s3_store.uri() + "/" + quote(f"{name}/{name}")
        storage = Storage.resolve(uri, s3_store.storage_options)
        lance.write_dataset(DATA, storage.location.uri, storage_options=storage.lance_options)
        opened = lance.dataset(storage.location.uri, storage_options=storage.lance_options)
        assert opened.count_rows() == 1
        assert storage.location.key == s3_store.key(f"{name}/{name}")
        assert _transaction(storage)
    root = Storage.resolve(s3_store.uri(), s3_store.storage_options).object_store()
    prefixes = root.list_with_delimiter()["common_prefixes"]
    assert sorted(prefixes) == sorted(NAMES)


def _transaction(storage: Storage) -> str:
    listed = storage.object_store().list_with_delimiter("_transactions")["objects"]
    (found,) = [entry["path"].rpartition("/")[2] for entry in listed]
    return str(found)
