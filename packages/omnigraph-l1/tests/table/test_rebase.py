"""Deletes that were staged on one version and are committed on a later one."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest
from people import ids, rows

from omnigraph_l1 import ConflictFacts, Resolution, Staged, Table, TransactionKind, conflict
from omnigraph_l1.errors import CommitConflict, InvalidRequest


def staged_delete(pickled: bytes, predicate: str) -> bytes:
    """Stage a delete with a handle that came from another process."""
    table: Table = pickle.loads(pickled)
    return pickle.dumps(table.stage_delete(predicate))


@pytest.fixture
def base(table: Table) -> Table:
    """Rows in two fragments."""
    table = table.append(rows("a", "b", "c", "d", "e")).table
    return table.append(rows("f", "g")).table


@pytest.mark.integration
def test_two_processes_delete_different_rows_of_one_fragment(base: Table) -> None:
    """Both commit: the second merges its deletion marks with those of the first."""
    wanted = [(pickle.dumps(base), f"id = '{name}'") for name in "ac"]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        first, second = map(pickle.loads, pool.map(staged_delete, *zip(*wanted, strict=True)))
    base.commit(first)
    with pytest.raises(CommitConflict):
        base.commit(second)  # pylance's operation does not carry its rows
    newest = base.refresh()
    done = newest.commit(newest.rebase(second))
    assert done.follows_base
    assert ids(done.table.read()) == ["b", "d", "e", "f", "g"]
    done.table.dataset.validate()


DELETES: dict[str, tuple[Callable[[Table], Staged], set[str]]] = {
    "one row": (lambda table: table.stage_delete("id = 'a'"), {"a"}),
    "by keys": (lambda table: table.stage_delete_keys("id", ["a", "b"]), {"a", "b"}),
    "a whole fragment": (lambda table: table.stage_delete("id >= 'f'"), {"f", "g"}),
    "in both": (lambda table: table.stage_delete("id IN ('a', 'g')"), {"a", "g"}),
}
OTHERS: dict[str, Callable[[Table], Any]] = {
    "append": lambda table: table.append(rows("x")),
    "delete": lambda table: table.delete("id IN ('c', 'd')"),
    "update": lambda table: table.upsert(rows("c", "d", age=7), "id"),
    "compact": lambda table: table.compact(),
    "update and compact": lambda table: table.upsert(rows("c"), "id").table.compact(),
    "restore": lambda table: table.delete("id = 'a'").table.restore(table.version),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize(("mine", "gone"), DELETES.values(), ids=DELETES)
def test_a_delete_next_to_other_changes(
    base: Table, mine: Callable[[Table], Staged], gone: set[str], other: str
) -> None:
    """It takes the same rows, wherever they are by now, and nothing of the others' is lost."""
    staged = mine(base)
    OTHERS[other](base)
    newest = base.refresh()
    left = {row["id"]: row for row in newest.read().to_pylist() if row["id"] not in gone}
    done = newest.commit(newest.rebase(staged))
    assert done.follows_base
    assert {row["id"]: row for row in done.table.read().to_pylist()} == left


@pytest.mark.parametrize(
    "other",
    [
        lambda table: table.delete("id = 'a'"),
        lambda table: table.upsert(rows("a", age=7), "id"),
        lambda table: table.upsert(rows("a", age=7), "id").table.compact(),
        lambda table: table.overwrite(rows("a")),
    ],
)
def test_the_same_row_is_a_conflict(base: Table, other: Callable[[Table], Any]) -> None:
    """As the specification has it; nothing is written."""
    staged = base.stage_delete("id IN ('a', 'b')")
    other(base)
    newest = base.refresh()
    with pytest.raises(CommitConflict) as caught:
        newest.rebase(staged)
    same_rows = ConflictFacts(overlap=True, same_rows=True)
    assert caught.value.resolution is conflict(
        TransactionKind.DELETE, TransactionKind.UPDATE, same_rows
    )
    assert caught.value.resolution is Resolution.RETRYABLE
    assert base.refresh().version == newest.version


def test_changed_rows_that_were_staged_are_rebased(base: Table) -> None:
    """Also after they were put together."""
    there = base.read(columns=["id", "_rowid", "_rowaddr"], filter="id = 'a'").to_pylist()[0]
    part = base.write_changes(
        updated=rows("a", age=9),
        row_ids=[there["_rowid"]],
        inserted=rows("new"),
        addresses=[there["_rowaddr"]],
    )
    staged = base.stage_changed([part], key="id")
    newest = base.delete("id = 'b'").table
    done = newest.commit(newest.rebase(staged)).table
    assert ids(done.read()) == ["a", "c", "d", "e", "f", "g", "new"]
    assert done.read(filter="id = 'a'")["age"].to_pylist() == [9]
    with pytest.raises(CommitConflict):
        done.rebase(staged)


def test_what_is_computed_from_all_rows_is_not_rebased(base: Table) -> None:
    """An upsert is staged again; an append holds everywhere."""
    upsert, append = base.stage_upsert(rows("a"), "id"), base.stage_append(rows("x"))
    newest = base.delete("id = 'b'").table
    with pytest.raises(InvalidRequest, match="stage it again"):
        newest.rebase(upsert)
    assert "x" in ids(newest.commit(newest.rebase(append)).table.read())
    with pytest.raises(InvalidRequest, match="cannot be read from branch"):
        newest.fork("side.1").rebase(base.stage_delete("id = 'a'"))
