"""What was done to a table can be read back: each operation, by whom, on what, and when."""

from __future__ import annotations

import pickle
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, cast

import lance
import pyarrow as pa
import pytest
from lance import DatasetBasePath
from people import SCHEMA, rows, tear, version_file

from omnigraph_l1 import Caches, Storage, Table, TransactionKind, VersionRecord
from omnigraph_l1.errors import InvalidRequest
from omnigraph_testing import FaultyS3


def operations(table: Table) -> list[str | None]:
    """Name the operations, the oldest first."""
    return [record.operation for record in table.history()][::-1]


def test_each_change_is_told(table: Table) -> None:
    """Newest first, with its id, its properties, the version it was computed on, and its time."""
    started = time.time()
    first = table.append(rows("a", "b")).table
    staged = first.stage_delete("id = 'a'")
    name = "a-change-of-mine"
    second = first.commit(staged, properties={"actor": "ann"}, transaction_id=name).table
    third = second.restore(first.version).table
    records = list(third.history())
    assert [record.version for record in records] == [4, 3, 2, 1]
    assert [record.kind for record in records] == [
        TransactionKind.RESTORE,
        TransactionKind.DELETE,
        TransactionKind.APPEND,
        TransactionKind.OVERWRITE,
    ]
    deleted = records[1]
    assert deleted.operation == "Delete"
    assert (deleted.transaction_id, deleted.read_version) == (name, first.version)
    assert deleted.properties["actor"] == "ann"
    assert deleted.problem is None
    times = [record.committed_at for record in records]
    assert all(isinstance(one, datetime) and one.tzinfo is timezone.utc for one in times)
    assert times == sorted(cast("list[datetime]", times), reverse=True)
    newest = cast("datetime", times[0])
    assert started - 1 <= newest.timestamp() <= time.time() + 1
    assert pickle.loads(pickle.dumps(deleted)) == deleted


def test_what_pylance_does_not_show_is_told_all_the_same(base: Table) -> None:
    """A compaction that moved an index, the numbers it reserved, and bases: by name, with ids."""
    table = base.create_index("id").table.compact().table
    add_base(table)
    records = list(table.refresh().history(limit=4))
    assert [record.operation for record in records] == [
        "UpdateBases",
        "Rewrite",
        "ReserveFragments",
        "CreateIndex",
    ]
    assert all(record.kind and record.transaction_id for record in records)
    assert [record.read_version for record in records[1:]] == [base.version + 1] * 2 + [
        base.version
    ]


def test_a_history_ends_where_the_handle_is(base: Table) -> None:
    """What came later is not in it; as many as were asked for are."""
    newer = base.append(rows("d")).table
    assert [one.version for one in newer.at(2).history()] == [2, 1]
    assert [one.version for one in newer.history(limit=2)] == [4, 3]
    assert list(newer.history(limit=0)) == []
    assert len(list(newer.history(limit=100))) == 4


def test_a_branch_has_a_history_of_its_own(base: Table) -> None:
    """From its start on, which is the clone that made it."""
    branch = base.fork("side", fresh=True).append(rows("x")).table
    base.append(rows("y"))
    assert operations(branch) == ["Clone", "Append"]
    assert [one.version for one in branch.history()] == [base.version + 1, base.version]


def test_versions_that_were_removed_are_left_out(base: Table) -> None:
    """The others are told."""
    base.remove_versions([2])
    assert [one.version for one in base.history()] == [3, 1]


def test_a_damaged_version_is_told_and_hides_no_other(local: Table) -> None:
    """It says what is wrong with it, and that is all that is known of it."""
    table = local.append(rows("a")).table.append(rows("b")).table
    tear(version_file(table, 2), "half")
    # A handle that read the version before has it in its caches.
    newest, damaged, oldest = apart(table).history()
    assert (newest.operation, oldest.operation) == ("Append", "Overwrite")
    assert damaged.version == 2
    assert damaged.operation is damaged.kind is damaged.transaction_id is None
    assert damaged.problem


def test_a_lost_record_is_told(local: Table) -> None:
    """Where pylance cannot show it and its file is gone."""
    add_base(local)
    for path in (local.location.local_path / "_transactions").glob("1-*.txn"):
        path.unlink()
    newest = next(apart(local.refresh()).history())
    assert newest.operation is None
    assert "is gone" in str(newest.problem)
    assert newest.committed_at is not None


@pytest.mark.parametrize("limit", [-1, True, "2", 1.5])
def test_a_limit_is_a_whole_number(local: Table, limit: Any) -> None:
    """It is refused at once, not when the first record is read."""
    with pytest.raises(InvalidRequest, match="Invalid limit"):
        local.history(limit=limit)


def test_old_names_of_versions_are_no_hindrance(tmp_path: Path) -> None:
    """A dataset whose version files count up is told likewise."""
    location = tmp_path / "old"
    data = pa.table({"id": ["a"], "age": [1]})
    made = lance.write_dataset(data, location, enable_v2_manifest_paths=False)
    lance.write_dataset(data, made, mode="append").create_scalar_index("age", "BTREE")
    lance.dataset(location).optimize.compact_files()
    found = operations(Table.open(location))
    assert found == ["Overwrite", "Append", "CreateIndex", "ReserveFragments", "Rewrite"]


@pytest.mark.integration
def test_only_what_is_asked_for_is_read(faulty_s3: FaultyS3) -> None:
    """One listing, and two requests for each record: none for versions beyond the limit."""
    storage = Storage.resolve(faulty_s3.uri("t"), faulty_s3.storage_options)
    table = Table.create(storage, SCHEMA)
    for number in range(8):
        table = table.append(rows(f"r{number}")).table
    table = Table.open(storage)
    before = len(faulty_s3.requests)
    assert len(list(table.history(limit=3))) == 3
    sent = faulty_s3.requests[before:]
    assert len(sent) <= 1 + 2 * 3, [(one.method, one.key) for one in sent]
    reader = table.history()
    before = len(faulty_s3.requests)
    next(reader)
    assert len(faulty_s3.requests) - before <= 3


def add_base(table: Table) -> None:
    """Commit what pylance has no class for, with a handle of its own: it moves."""
    handle = lance.dataset(table.dataset.uri, storage_options=table.dataset.initial_storage_options)
    handle.add_bases([DatasetBasePath(f"{table.dataset.uri}-elsewhere", name="p")])


def apart(table: Table) -> Table:
    """Open the head again, with nothing cached."""
    return Table.open(table.location, caches=Caches())


def test_a_version_record_is_a_value(local: Table) -> None:
    """Two readings are equal."""
    assert list(local.history()) == list(local.history())
    assert isinstance(next(local.history()), VersionRecord)
