"""Tables whose versions another store decides: everything that a table does, and many writers."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

import pytest
from undecided import SCHEMA, append_many, count_up, ids, insert_first, rows

from omnigraph_l1 import JsonRefs, Storage, Table
from omnigraph_l1.errors import CommitConflict, DatasetExists, UnknownVersion, UnsafeStore

WRITERS, COMMITS = 3, 5


def _at_once(work: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
    with get_context("spawn").Pool(len(calls)) as pool:
        return pool.starmap(work, calls, chunksize=1)


def test_all_that_a_table_does(storage: Storage) -> None:
    """Commits follow each other, branches and versions are found, and what is removed is gone."""
    table = Table.create(storage, SCHEMA)
    with pytest.raises(DatasetExists):
        Table.create(storage, SCHEMA)
    first = table.append(rows("a", "b"))
    assert first.follows_base
    branch = first.table.fork("side.1", fresh=True)
    branch = branch.upsert(rows("a", "c", n=2), "id").table.delete("id = 'b'").table
    assert ids(Table.open(storage, branch="side.1")) == ["a", "c"]
    late = first.table.append(rows("late"))
    table = late.table.append(rows("z")).table.compact().table.create_index("id").table
    assert ids(pickle.loads(pickle.dumps(table))) == ["a", "b", "late", "z"]
    assert ids(table.at(first.version)) == ["a", "b"]
    assert ids(table.restore(first.version).table) == ["a", "b"]
    assert table.remove_versions([late.version]).versions == 1
    with pytest.raises(UnknownVersion):
        Table.open(storage, version=late.version)
    assert ids(Table.open(storage)) == ["a", "b"]


def test_a_key_is_inserted_once(storage: Storage) -> None:
    """Of two merges on one version that insert one key, the second is refused."""
    table = Table.create(storage, SCHEMA)
    other = Table.open(storage)
    table.cas_merge(rows("k"), key="id", write_id="1")
    with pytest.raises(CommitConflict):
        other.cas_merge(rows("k"), key="id", write_id="2")
    assert ids(Table.open(storage)) == ["k"]


def test_many_writers(storage: Storage) -> None:
    """Every commit of each process is there, once, as a version of its own."""
    Table.create(storage, SCHEMA)
    made = _at_once(append_many, [(storage, writer, COMMITS) for writer in range(WRITERS)])
    assert max(Counter(version for each in made for version in each).values()) == 1
    wanted = [f"{writer}-{number}" for writer in range(WRITERS) for number in range(COMMITS)]
    assert ids(Table.open(storage)) == sorted(wanted)


def test_many_writers_of_the_same_keys(storage: Storage) -> None:
    """Each key has one winner, who knows it."""
    Table.create(storage, SCHEMA)
    won = _at_once(insert_first, [(storage, writer, COMMITS) for writer in range(WRITERS)])
    assert sorted(key for each in won for key in each) == [f"k{key}" for key in range(COMMITS)]
    table = Table.open(storage).read()
    by_id = dict(zip(table["id"].to_pylist(), table["n"].to_pylist(), strict=True))
    assert len(by_id) == table.num_rows == COMMITS
    assert all(by_id[key] == writer for writer, keys in enumerate(won) for key in keys)


def test_refs_are_decided_there_too(storage: Storage) -> None:
    """No change of a ref is lost, and a store that ignores conditions is no hindrance."""
    refs = JsonRefs.open(storage, "_refs/tests")
    refs.probe()
    refs.create("counter", {"n": 0})
    _at_once(count_up, [(storage, COMMITS)] * WRITERS)
    found = refs.get("counter")
    assert found is not None
    assert found.value == {"n": WRITERS * COMMITS}


def test_without_one_the_store_is_refused(plain: Storage) -> None:
    """It is found out that it ignores conditions."""
    with pytest.raises(UnsafeStore):
        JsonRefs.open(plain, "_refs/tests").probe()
