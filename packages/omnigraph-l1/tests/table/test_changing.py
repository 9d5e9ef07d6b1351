"""Rows changed by many writers and committed once, beside what a plain dictionary says."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from omnigraph_l1 import Resolution, Table, WrittenChanges
from omnigraph_l1.errors import CommitConflict, InvalidData, InvalidRequest

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("v", pa.int64())])
CREATED, UPDATED = "_row_created_at_version", "_row_last_updated_at_version"
_Found = dict[str, dict[str, Any]]


def rows(names: list[str], value: int) -> pa.Table:
    """Make rows."""
    return pa.table({"id": names, "v": [value] * len(names)}, schema=SCHEMA)


def found(table: Table) -> _Found:
    """Return all that is to be known of each row, by key; a key that stands twice is an error."""
    columns = ["id", "v", "_rowid", "_rowaddr", CREATED, UPDATED]
    listed = table.read(columns=columns).to_pylist()
    by_key = {row["id"]: row for row in listed}
    assert len(by_key) == len(listed)
    return by_key


def change(
    table: Table, updated: list[str], inserted: list[str], deleted: list[str], value: int = 9
) -> WrittenChanges:
    """Write changes with a handle that another process would have opened."""
    there = found(table)
    elsewhere = Table.at_target(pickle.loads(pickle.dumps(table.write_target)))
    updated = sorted(updated, key=lambda name: there[name]["_rowid"])
    done = elsewhere.write_changes(
        updated=rows(updated, value),
        row_ids=[there[name]["_rowid"] for name in updated],
        inserted=rows(inserted, value),
        addresses=[there[name]["_rowaddr"] for name in (*updated, *deleted)],
    )
    return pickle.loads(pickle.dumps(done))


def filled(location: Path, fragments: list[int]) -> Table:
    """Make a table of fragments with so many rows, some of them deleted, with an index."""
    table = Table.create(location / "t", SCHEMA, durability="none")
    for number, count in enumerate(fragments):
        table = table.append(rows([f"{number}-{each}" for each in range(count)], number)).table
    table = table.delete("v = 0 AND id LIKE '%3'").table
    return table.create_index("v").table


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_changes_of_many_writers(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Values, row ids and versions are right, and what nobody changed is as it was."""
    fragments = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    table = filled(tmp_path_factory.mktemp("t"), fragments)
    before = found(table)
    writers = data.draw(st.integers(1, 4))
    fates = st.tuples(st.sampled_from(["keep", "update", "delete"]), st.integers(0, writers - 1))
    fate = {name: data.draw(fates) for name in before}
    parts = []
    for writer in range(writers):
        mine = [
            [n for n, f in fate.items() if f == (what, writer)] for what in ("update", "delete")
        ]
        new = [f"new-{writer}-{each}" for each in range(data.draw(st.integers(0, 2)))]
        parts.append(change(table, mine[0], new, mine[1]))
    done = table.commit(table.stage_changed(parts, key="id"))
    assert done.follows_base
    updated = {name for name, (what, _) in fate.items() if what == "update"}
    deleted = {name for name, (what, _) in fate.items() if what == "delete"}
    inserted = {row for part in range(writers) for row in found(done.table) if f"new-{part}" in row}
    after = found(done.table)
    assert after.keys() == before.keys() - deleted | inserted
    for name, row in after.items():
        if name in inserted:
            assert (row["v"], row[CREATED], row[UPDATED]) == (9, done.version, done.version)
        elif name in updated:
            assert (row["v"], row[UPDATED]) == (9, done.version)
            assert row["_rowid"] == before[name]["_rowid"]
            assert row[CREATED] == before[name][CREATED]
        else:
            assert row == before[name]
    assert len({row["_rowid"] for row in after.values()}) == len(after)
    assert done.changed == bool(updated or deleted or inserted)
    if done.changed:
        delta = done.table.delta(table.version)
        told = [
            delta.inserted().read_all()["id"].to_pylist(),
            delta.updated().read_all()["id"].to_pylist(),
        ]
        assert list(map(set, told)) == [inserted, updated]
        gone = delta.deleted_row_ids().read_all()["_rowid"].to_pylist()
        assert set(gone) == {before[name]["_rowid"] for name in deleted}
    for value in range(10):
        by_index = done.table.read(columns=["id"], filter=f"v = {value}")["id"].to_pylist()
        assert sorted(by_index) == sorted(name for name, row in after.items() if row["v"] == value)
    done.table.dataset.validate()


def test_the_ids_of_many_updated_rows_take_little_room(tmp_path: Path) -> None:
    """What travels is far less than the rows: here each second one of a large table."""
    table = Table.create(tmp_path / "t", SCHEMA, durability="none")
    table = table.append(rows([f"k{each}" for each in range(200_000)], 1)).table
    numbers = np.arange(0, 200_000, 2)
    part = table.write_changes(
        updated=rows([f"k{each}" for each in numbers], 2),
        row_ids=numbers,
        inserted=rows([], 0),
        addresses=numbers,
    )
    assert len(pickle.dumps(part)) < 40_000
    assert table.commit(table.stage_changed([part], key="id")).table.count("v = 2") == 100_000


def test_a_row_that_two_writers_change_is_named(tmp_path: Path) -> None:
    """Its key is told, and nothing can be committed."""
    table = filled(tmp_path, [4, 4])
    parts = [change(table, ["1-1", "1-2"], [], []), change(table, ["0-1"], [], ["1-2"])]
    with pytest.raises(InvalidData, match="stands more than once with '1-2'"):
        table.stage_changed(parts, key="id")
    with pytest.raises(InvalidData, match="stands more than once with '1-1', '1-2'"):
        table.stage_changed(
            [parts[0], change(table, [], [], ["1-0", "1-1", "1-2", "1-3"])], key="id"
        )


def test_one_part_twice_is_refused(tmp_path: Path) -> None:
    """Its rows would be there twice."""
    table = filled(tmp_path, [2])
    part = change(table, [], ["new"], [])
    with pytest.raises(InvalidRequest, match="twice"):
        table.stage_changed([part, part], key="id")


def test_changes_hold_while_others_change_other_fragments(tmp_path: Path) -> None:
    """They are committed on the version that is there, and strangers' rows stay as they are."""
    table = filled(tmp_path, [3, 3])
    part = change(table, ["1-0"], ["new"], ["1-1"])
    later = table.append(rows(["late"], 5)).table.delete("id = '0-1'").table
    assert later.rebase_changes(part) == part
    done = later.commit(later.stage_changed([part], key="id"))
    assert done.follows_base
    assert {name: row["v"] for name, row in found(done.table).items()} == {
        "0-0": 0, "0-2": 0, "1-0": 9, "1-2": 1, "late": 5, "new": 9,
    }  # fmt: skip


OTHERS: dict[str, Callable[[Table, str], Any]] = {
    "delete": lambda table, name: table.delete(f"id = '{name}'"),
    "update": lambda table, name: table.upsert(rows([name], 7), "id"),
    "compact": lambda table, _: table.compact(),
    "update and compact": lambda table, name: (
        table.upsert(rows([name], 7), "id").table.refresh().compact()
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_changes_of_rows_next_to_those_of_others_are_rebased(tmp_path: Path, what: str) -> None:
    """Staged for the older version they are refused; for the newer one they take the same rows."""
    table = filled(tmp_path, [3, 4])
    part = change(table, ["1-0"], ["new"], ["1-1"])
    OTHERS[what](table, "1-2")
    later = table.refresh()
    theirs = found(later)
    with pytest.raises(InvalidRequest, match="do it again on version"):
        later.stage_changed([part], key="id")
    done = later.commit(later.stage_changed([later.rebase_changes(part)], key="id"))
    assert done.follows_base
    after = found(done.table)
    assert after.keys() == theirs.keys() - {"1-1"} | {"new"}
    assert (after["1-0"]["v"], after["1-0"]["_rowid"]) == (9, theirs["1-0"]["_rowid"])
    left = after.keys() - {"1-0", "new"}
    assert {name: after[name] for name in left} == {name: theirs[name] for name in left}
    done.table.dataset.validate()


@pytest.mark.parametrize("what", ["delete", "update", "update and compact"])
@pytest.mark.parametrize("mine", ["update", "delete"])
def test_rows_that_others_changed_are_a_conflict(tmp_path: Path, what: str, mine: str) -> None:
    """Also a row that both delete: what has its id by then may be another one."""
    table = filled(tmp_path, [3, 3])
    part = change(table, *((["1-0"], [], []) if mine == "update" else ([], [], ["1-0"])))
    OTHERS[what](table, "1-0")
    later = table.refresh()
    with pytest.raises(CommitConflict) as caught:
        later.rebase_changes(part)
    assert caught.value.resolution is Resolution.RETRYABLE


def test_places_that_are_not_there_are_refused(tmp_path: Path) -> None:
    """Addresses of another version would take other rows out."""
    table = filled(tmp_path, [5])
    empty = rows([], 0)
    gone = 3
    for address in (gone, 5, 1 << 32):
        with pytest.raises(InvalidRequest, match="does not have"):
            table.write_changes(updated=empty, row_ids=[], inserted=empty, addresses=[address])
    with pytest.raises(InvalidRequest, match="taken out twice"):
        table.write_changes(updated=empty, row_ids=[], inserted=empty, addresses=[1, 1])
    with pytest.raises(InvalidRequest, match="each needs one of both"):
        table.write_changes(updated=rows(["0-1"], 1), row_ids=[], inserted=empty, addresses=[1])


def test_on_a_branch(tmp_path: Path) -> None:
    """A fork takes its own changes only, and those of its rows that lie in files of main too."""
    main = filled(tmp_path, [3])
    fork = main.fork("x")
    part = change(fork, ["0-1"], ["new"], ["0-2"])
    done = fork.commit(fork.stage_changed([part], key="id")).table
    assert sorted(found(done)) == ["0-0", "0-1", "new"]
    assert sorted(found(main.refresh())) == ["0-0", "0-1", "0-2"]
    with pytest.raises(InvalidRequest, match="cannot be read from branch None"):
        main.stage_changed([part], key="id")


def test_deleting_a_row_twice_does_no_harm(tmp_path: Path) -> None:
    """It is gone, and was one row."""
    table = filled(tmp_path, [4])
    parts = [change(table, [], [], ["0-0", "0-1"]), change(table, [], ["new"], ["0-1", "0-2"])]
    staged = table.stage_changed(parts, key="id")
    assert staged.rows_deleted == 3
    assert sorted(found(table.commit(staged).table)) == ["new"]
