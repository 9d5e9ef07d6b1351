"""Staged changes, and what others publish before they are: a lost race is told, nothing is lost."""

# ruff: noqa: PT012 - a transaction ends where its block does

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from stagework import deletes, everything, person, upserts
from tx_support import CITY, KNOWS, PERSON, SCHEMA, add, edge, ids

from omnigraph_l1 import list_objects, remove_object, table_path
from omnigraph_l2 import RegisterTable, Repository, Transaction
from omnigraph_l2.errors import (
    DanglingEdges,
    DuplicateIds,
    ExpectedVersionMismatch,
    InvalidRequest,
    OmniGraphError,
)
from omnigraph_testing import S3Store


def _checked(tx: Transaction) -> int:
    return tx.snapshot.version


def _append(tx: Transaction, at: int | None) -> None:
    tx.append_staged(PERSON, tx.stage(PERSON).write([person("new")]), checked_at=at)


def _upsert(tx: Transaction, at: int | None) -> None:
    tx.change_staged(PERSON, upserts(tx, PERSON, [person("a", 9), person("new")]), checked_at=at)


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize(
    ("how", "told"), [(_append, DuplicateIds), (_upsert, ExpectedVersionMismatch)]
)
def test_of_two_that_add_one_id_one_is_told(
    repo: Repository,
    how: Callable[[Transaction, int | None], None],
    told: type[OmniGraphError],
    *,
    checked: bool,
) -> None:
    """Also where the caller has checked its rows itself: others came since.

    An upsert has only lost a race: done again, it replaces the row.
    """
    with pytest.raises(told), repo.transaction() as tx:
        how(tx, _checked(tx) if checked else None)
        add(repo, "new")
    assert ids(repo, PERSON) == ["a", "b", "new"]


@pytest.mark.parametrize("checked", [False, True])
def test_what_others_added_stays(repo: Repository, *, checked: bool) -> None:
    """A lost race is run again with the files that were written."""
    with repo.transaction() as tx:
        _upsert(tx, _checked(tx) if checked else None)
        add(repo, "theirs")
    assert {name: row["age"] for name, row in everything(repo).items()} == {
        "a": 9, "b": 2, "new": None, "theirs": None,
    }  # fmt: skip


@pytest.mark.parametrize("checked", [False, True])
def test_rows_that_others_changed_meanwhile(repo: Repository, *, checked: bool) -> None:
    """Then it is a lost race, with the version that was changed and that which is there."""
    seen = repo.snapshot().tables[PERSON].table_version
    with pytest.raises(ExpectedVersionMismatch) as told, repo.transaction() as tx:
        _upsert(tx, _checked(tx) if checked else None)
        with repo.transaction() as other:
            other.upsert(PERSON, [person("a", 8)])
    now = repo.snapshot().tables[PERSON].table_version
    assert (told.value.table_key, told.value.expected, told.value.actual) == (PERSON, seen, now)
    assert everything(repo)["a"]["age"] == 8


def _optimized(repo: Repository) -> None:
    for number in range(3):
        add(repo, f"late{number}")
    repo.optimize([PERSON])


BESIDE: dict[str, Callable[[Repository], Any]] = {
    "updated": lambda repo: _published(repo, lambda tx: tx.upsert(PERSON, [person("b", 8)])),
    "deleted": lambda repo: _published(repo, lambda tx: tx.delete(PERSON, ids=["b"])),
    "moved": _optimized,
}


def _published(repo: Repository, work: Callable[[Transaction], Any]) -> None:
    with repo.transaction() as tx:
        work(tx)


@pytest.mark.parametrize("at", [True, False])
@pytest.mark.parametrize("meanwhile", BESIDE.values(), ids=BESIDE)
def test_rows_beside_those_that_others_changed(
    repo: Repository, meanwhile: Callable[[Repository], Any], *, at: bool
) -> None:
    """They are found where they are by now: nothing is lost, and nothing is a conflict."""
    _published(repo, lambda tx: tx.delete(KNOWS, ids=["e"]))
    _published(repo, lambda tx: tx.append(PERSON, [person("c", 3), person("d", 4)]))
    before = {row["id"]: row["_rowid"] for row in _facts(repo)}
    with repo.transaction() as tx:
        parts = [*upserts(tx, PERSON, [person("a", 9), person("n")]), *deletes(tx, PERSON, ["d"])]
        tx.change_staged(PERSON, parts, checked_at=_checked(tx) if at else None)
        meanwhile(repo)
        theirs = everything(repo)
    assert everything(repo) == {
        **{name: row for name, row in theirs.items() if name != "d"},
        "a": person("a", 9),
        "n": person("n"),
    }
    assert {row["id"]: row["_rowid"] for row in _facts(repo)}["a"] == before["a"]


@pytest.mark.parametrize("others", ["upsert", "staged upsert"])
def test_a_staged_delete_of_a_row_that_others_changed(repo: Repository, others: str) -> None:
    """It is a lost race: the row that they wrote was never seen, and must not survive unnoticed."""
    add(repo, "c")
    with pytest.raises(ExpectedVersionMismatch), repo.transaction() as tx:
        tx.change_staged(PERSON, deletes(tx, PERSON, ["c"]))
        with repo.transaction() as other:
            if others == "upsert":
                other.upsert(PERSON, [person("c", 8)])
            else:
                other.change_staged(PERSON, upserts(other, PERSON, [person("c", 8)]))
    assert everything(repo)["c"]["age"] == 8


def test_a_row_that_two_delete(repo: Repository) -> None:
    """The second is refused: where a row is gone, another may have its id."""
    add(repo, "c", "d")
    with pytest.raises(ExpectedVersionMismatch), repo.transaction() as tx:
        tx.change_staged(PERSON, deletes(tx, PERSON, ["c", "d"]))
        with repo.transaction() as other:
            other.change_staged(PERSON, deletes(other, PERSON, ["c"]))
    assert ids(repo, PERSON) == ["a", "b", "d"]


def test_a_row_that_was_replaced_by_another_of_its_id(repo: Repository) -> None:
    """A delete of the one does not count as a delete of the other."""
    add(repo, "c", "d")
    with pytest.raises(ExpectedVersionMismatch), repo.transaction() as tx:
        tx.change_staged(PERSON, deletes(tx, PERSON, ["c"]))
        with repo.transaction() as other:
            other.delete(KNOWS, "true")
            other.overwrite(PERSON, [{"id": name, "age": 7} for name in "abc"])
    assert everything(repo)["c"]["age"] == 7


def _facts(repo: Repository) -> list[dict[str, Any]]:
    found: pa.Table = repo.snapshot().dataset(PERSON).to_table(columns=["id", "_rowid"])
    return found.to_pylist()


def test_overwriting_what_others_published(repo: Repository) -> None:
    """Rows that were checked at a version replace that version, and no later one."""
    with repo.transaction() as tx:
        staged, at = tx.stage(CITY).write([{"id": "x"}]), _checked(tx)
    with repo.transaction() as tx:
        tx.overwrite_staged(CITY, staged, checked_at=at)
    assert ids(repo, CITY) == ["x"]
    with pytest.raises(ExpectedVersionMismatch), repo.transaction() as tx:
        tx.overwrite_staged(CITY, tx.stage(CITY).write([{"id": "y"}]), checked_at=at)


def test_what_was_checked_is_believed(repo: Repository) -> None:
    """It is the caller's word: where nobody published since, nothing is looked at again."""
    with repo.transaction() as tx:
        rows = tx.stage(KNOWS).write([edge("f", "a", "no")])
        tx.append_staged(KNOWS, rows, checked_at=_checked(tx))
    assert ids(repo, KNOWS) == ["e", "f"]


def _edge_to(tx: Transaction, name: str) -> None:
    tx.append_staged(KNOWS, tx.stage(KNOWS).write([edge("f", "a", name)]), checked_at=_checked(tx))


def test_nodes_that_others_took_away(repo: Repository) -> None:
    """Ends that were there when the caller checked must be there still."""
    add(repo, "c", "d")
    with pytest.raises(DanglingEdges, match="'c'"), repo.transaction() as tx:
        _edge_to(tx, "c")
        with repo.transaction() as other:
            other.delete(PERSON, ids=["c"])
    with repo.transaction() as tx:
        _edge_to(tx, "d")
        add(repo, "x")
    assert ids(repo, KNOWS) == ["e", "f"]


@pytest.mark.parametrize(
    "take",
    [
        lambda tx: tx.change_staged(PERSON, deletes(tx, PERSON, ["c"]), checked_at=_checked(tx)),
        lambda tx: tx.overwrite_staged(
            PERSON,
            tx.stage(PERSON).write([person("a"), person("b")]),
            checked_at=_checked(tx),
        ),
    ],
)
def test_edges_that_others_made(repo: Repository, take: Callable[[Transaction], None]) -> None:
    """Nodes to which nothing pointed when the caller checked may not be pointed to by now."""
    add(repo, "c")
    with pytest.raises(DanglingEdges, match="'c'"), repo.transaction() as tx:
        take(tx)
        with repo.transaction() as other:
            other.append(KNOWS, [edge("f", "a", "c")])
    with repo.transaction() as tx:
        take(tx)
        tx.change_staged(KNOWS, deletes(tx, KNOWS, ["f"]), checked_at=_checked(tx))
    assert ids(repo, PERSON) == ["a", "b"]


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("how", ["rows", "changes"])
def test_staged_work_is_published_once(repo: Repository, how: str, *, checked: bool) -> None:
    """Whoever does not know whether it was published, and sends it again, is told."""
    with repo.transaction() as tx:
        staged = tx.stage(PERSON).write([person("new")])
        changed = upserts(tx, PERSON, [person("newer")])
        tx.append_staged(PERSON, staged)
        tx.change_staged(PERSON, changed)
    with pytest.raises(InvalidRequest, match="already"), repo.transaction() as tx:
        at = _checked(tx) if checked else None
        if how == "rows":
            tx.append_staged(PERSON, staged, checked_at=at)
        else:
            tx.change_staged(PERSON, changed, checked_at=at)
    with pytest.raises(InvalidRequest, match="already"), repo.transaction() as tx:
        again = tx.stage(PERSON).write([person("twice")])
        tx.append_staged(PERSON, again, checked_at=_checked(tx))
        tx.append_staged(PERSON, again, checked_at=_checked(tx))
    assert ids(repo, PERSON) == ["a", "b", "new", "newer"]


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_nodes_of_another_table_that_others_took_away(repo: Repository, how: str) -> None:
    """An end that is declared nowhere may be in any node table: the one that is left must stay."""
    with repo.transaction() as tx:
        tx.append(CITY, [{"id": "a"}])
    repo.publish([RegisterTable(table_key=KNOWS, table_path=table_path(KNOWS))])
    with pytest.raises(DanglingEdges, match="'a'"), repo.transaction() as tx:
        tx.change_staged(PERSON, deletes(tx, PERSON, ["a"]), checked_at=_checked(tx))
        with repo.transaction() as other:
            if how == "deleted":
                other.delete(CITY, ids=["a"])
            else:
                other.overwrite(CITY, [{"id": "oslo"}])
    assert repo.verify(dangling_edges=True).ok


@pytest.mark.integration
def test_staged_work_of_another_transaction_that_is_gone(s3_store: S3Store) -> None:
    """In a store nothing else reads what the caller has checked; a cleanup has removed it."""
    uri, options = s3_store.uri("gone"), s3_store.storage_options
    with Repository.init(uri, SCHEMA, storage_options=options) as repo:
        with repo.transaction() as tx:
            staged = tx.stage(PERSON).write([person("new")])
        storage = repo._root.child(table_path(PERSON))
        (data,) = [each.name for each in list_objects(storage) if each.name.startswith("data/")]
        remove_object(storage, data)
        with pytest.raises(InvalidRequest, match="is gone"), repo.transaction() as tx:
            tx.append_staged(PERSON, staged, checked_at=_checked(tx))
        assert repo.verify().ok


def test_edges_that_end_elsewhere_by_now(repo: Repository) -> None:
    """Nodes to which nothing pointed when the caller checked may be ends by another declaration."""
    with repo.transaction() as tx:
        tx.append(CITY, [{"id": "a"}, {"id": "b"}])
    other = {"endpoints": {"src": "Person", "dst": "City"}}
    path = table_path(KNOWS)
    with pytest.raises(DanglingEdges, match="'b'"), repo.transaction() as tx:
        tx.change_staged(CITY, deletes(tx, CITY, ["b"]), checked_at=_checked(tx))
        repo.publish([RegisterTable(table_key=KNOWS, table_path=path, metadata=other)])
    assert repo.verify().ok
