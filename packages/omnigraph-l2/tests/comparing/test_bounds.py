"""More rows than may be held, rows that are given again, and tables whose rows have no ids.

The bounds are lowered in the private modules that have them: the real ones need gigabytes.
"""

from __future__ import annotations

from functools import partial

import lance
import numpy as np
import pyarrow as pa
import pytest
from lineages import (
    PATH,
    Lineages,
    RepositoryRoot,
    changed_ids,
    compared_counts,
    difference,
    rows_at,
    told,
)

from omnigraph_l1 import Table
from omnigraph_l2 import TableEntry
from omnigraph_l2._rows.addressed_rows import AddressedRows
from omnigraph_l2._rows.row_identity import RowIdJoin
from omnigraph_l2._rows.spill_join import PartitionedRows

SOME = 300


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let hardly anything be held in memory."""
    package = "omnigraph_l2._rows"
    monkeypatch.setattr(f"{package}.change_candidates.RowIdJoin", partial(RowIdJoin, at_once=7))
    monkeypatch.setattr(
        f"{package}.row_diff.PartitionedRows", partial(PartitionedRows, in_memory=512)
    )
    monkeypatch.setattr(f"{package}.spill_join._DEEPEST", 2)
    monkeypatch.setattr(f"{package}.addressed_rows._AT_ONCE", 5)
    monkeypatch.setattr(f"{package}.addressed_rows._MARKS_AT_ONCE", 50)
    monkeypatch.setattr(f"{package}.change_candidates._FEW", 20)


def grown(root: RepositoryRoot) -> Lineages:
    """Grow a table that is compacted, emptied and filled again, with a branch beside it."""
    rows = {f"r{number:03d}": {"a": number, "b": str(number)} for number in range(SOME)}
    some = {key: {"a": -1, "b": None} for number, key in enumerate(rows) if number % 7 == 0}
    lineages = Lineages(root)
    lineages.append(None, rows)
    lineages.pin(None)
    lineages.upsert(None, some)
    branch = lineages.fork(None)
    lineages.delete(branch, set(list(rows)[::3]))
    lineages.pin(branch)
    lineages.compact(branch)
    lineages.upsert(branch, {"r001": {"a": 0, "b": "x"}, "new": {"a": 0, "b": "x"}})
    lineages.pin(branch)
    lineages.overwrite(None, rows | {"r002": {"a": 5, "b": "x"}})
    lineages.pin(None)
    lineages.drop_column(None, "b")
    lineages.pin(None)
    return lineages


@pytest.mark.usefixtures("tight")
def test_more_than_memory(root: RepositoryRoot) -> None:
    """What waits on disk is told like what is held."""
    lineages = grown(root)
    for before in lineages.pins:
        for after in lineages.pins:
            expected = difference(before.rows, after.rows)
            assert told(root, before.entry, after.entry) == expected
            assert compared_counts(root, before.entry, after.entry).total == len(expected)


def test_parts_come_sorted(root: RepositoryRoot) -> None:
    """Rows that fit in memory come in the order of their ids, in one part."""
    lineages = grown(root)
    found = list(told(root, lineages.pins[1].entry, lineages.pins[-1].entry))
    assert found == sorted(found)


def test_one_id_in_one_part() -> None:
    """However often rows are partitioned, both sides of an id are in one part."""
    schema = pa.schema([("id", pa.string()), ("a", pa.int64())])
    rows = pa.table(
        {"id": [str(number) for number in range(SOME)], "a": range(SOME)}, schema=schema
    )
    with PartitionedRows(schema, schema, in_memory=100) as partitioned:
        for side in (partitioned.before, partitioned.after):
            partitioned.add(side, rows.to_batches(max_chunksize=10))
        seen: list[str] = []
        for before, after in partitioned.partitions():
            assert sorted(before["id"].to_pylist()) == sorted(after["id"].to_pylist())
            seen += before["id"].to_pylist()
    assert sorted(seen) == sorted(rows["id"].to_pylist())


@pytest.mark.parametrize("step", [1, 2, 5, 100])
def test_rows_by_address(root: RepositoryRoot, step: int) -> None:
    """Few rows, many and all of them are counted and read, also if they were added twice."""
    lineages = Lineages(root)
    for start in (0, SOME):
        lineages.append(None, {f"{start + n:03d}": {"a": n, "b": None} for n in range(SOME)})
    table = root.open(PATH)
    addresses = table.read(columns=["_rowaddr"])["_rowaddr"].to_numpy()
    rows = AddressedRows(table)
    for some in (addresses[::step], addresses[: SOME // 2 : step], addresses[:0]):
        rows.add(some)
    ids = [row_id for batch in rows.batches(["id"]) for row_id in batch["id"].to_pylist()]
    assert sorted(ids) == [f"{number:03d}" for number in range(0, 2 * SOME, step)]
    assert len(rows) == len(ids)
    everything = AddressedRows(table)
    everything.add_all()
    assert len(everything) == 2 * SOME


def test_the_same_last_change_twice() -> None:
    """After they parted, two lineages may give one id and version to different changes."""
    facts = np.array([[1, 5, 10], [2, 9, 11], [3, 0, 12]], dtype=np.uint64)
    differing = {}
    for common in (None, 7):
        join = RowIdJoin(6)
        join.add_before(facts)
        join.add_after(facts + np.array([0, 0, 90], dtype=np.uint64))
        ((before, after),) = join.differing(common)
        differing[common] = before.tolist(), after.tolist()
    assert differing == {None: ([12], [102]), 7: ([11, 12], [101, 102])}


def test_rows_without_ids(root: RepositoryRoot) -> None:
    """A table of another program, whose rows have no ids, is compared by value."""
    location = f"{root.storage.location.local_path}/{PATH}"
    first = {"id": ["a", "b", "c"], "n": [1, 2, 3]}
    lance.write_dataset(pa.table(first), location, enable_stable_row_ids=False)
    dataset = lance.dataset(location)
    dataset.update({"n": "9"}, where="id = 'b'")
    dataset.delete("id = 'c'")
    dataset.optimize.compact_files()
    assert not Table.open(location).has_row_ids
    older, newer = (
        TableEntry(
            table_key="node:T",
            table_path=PATH,
            table_version=version,
            table_branch=None,
            row_count=0,
        )
        for version in (1, dataset.latest_version)
    )
    assert told(root, older, newer) == {
        "b": ("update", {"n": 2}, {"n": 9}),
        "c": ("delete", {"n": 3}, None),
    }
    assert told(root, newer, older).keys() == {"b", "c"}
    assert rows_at(root, newer, pa.array(["b", "c"])).to_pylist() == [{"id": "b", "n": 9}]


def test_values_that_a_new_column_got(
    root: RepositoryRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They do not make rows doubtful that never got one."""
    lineages = Lineages(root)
    lineages.append(None, {f"r{number}": {"a": number, "b": None} for number in range(SOME)})
    before = lineages.pin(None)
    lineages.add_column(None, "c")
    lineages.upsert(None, {f"r{number}": {"a": 0, "b": None, "c": 1} for number in range(9)})
    after = lineages.pin(None)
    monkeypatch.setattr("omnigraph_l2._rows.change_candidates._FEW", 3)
    with changed_ids(root, before.entry, after.entry) as ids:
        (found,) = ids.batches(SOME)
    assert sorted(found.to_pylist()) == [f"r{number}" for number in range(9)]
