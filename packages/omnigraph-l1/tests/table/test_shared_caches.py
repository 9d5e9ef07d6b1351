"""All datasets of a process share their caches: memory is bounded, and nothing stale is read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph_l1 import Caches, Storage, Table
from omnigraph_testing import S3Store

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False)])


def rows(name: str) -> pa.Table:
    """Make one row."""
    return pa.table({"id": [name]}, schema=SCHEMA)


def refilled(storage: Storage | Path, name: str) -> Table:
    """Make the dataset at a location anew: the same versions, other rows."""
    table = Table.create(storage, SCHEMA, durability="none").append(rows(name)).table
    return table.append(rows(f"{name}+")).table


def check(storage: Storage | Path, name: str) -> None:
    """Read each version of it."""
    assert Table.open(storage).read()["id"].to_pylist() == [name, f"{name}+"]
    assert Table.open(storage, version=2).read()["id"].to_pylist() == [name]
    assert Table.open(storage, version=1).count() == 0


def test_a_dataset_that_was_made_anew(tmp_path: Path) -> None:
    """What the caches hold of the one before is not taken for it."""
    for turn in range(5):
        shutil.rmtree(tmp_path / "t", ignore_errors=True)
        refilled(tmp_path / "t", f"v{turn}")
        check(tmp_path / "t", f"v{turn}")


@pytest.mark.integration
def test_the_same_in_a_store(s3_store: S3Store) -> None:
    """Also where files have no times of their own."""
    storage = Storage.resolve(s3_store.uri("t"), s3_store.storage_options)
    for turn in range(3):
        bucket = s3_store.obstore()
        for found in bucket.list():
            bucket.delete([each["path"] for each in found])
        refilled(storage, f"v{turn}")
        check(storage, f"v{turn}")


def test_two_handles_share_them(tmp_path: Path) -> None:
    """Handles on different datasets have one session."""
    one, other = (refilled(tmp_path / name, name) for name in ("a", "b"))
    assert one.dataset.session().is_same_as(other.dataset.session())


def test_caches_of_its_own(tmp_path: Path) -> None:
    """Who opens with them sees what is on disk, whatever others in the process have read."""
    table = refilled(tmp_path / "t", "a")
    table.read()
    caches = Caches()
    mine = Table.open(tmp_path / "t", caches=caches)
    assert not mine.dataset.session().is_same_as(table.dataset.session())
    assert mine.at(1).dataset.session().is_same_as(mine.dataset.session())
    other = Table.open(tmp_path / "t", version=2, caches=caches)
    assert other.dataset.session().is_same_as(mine.dataset.session())
