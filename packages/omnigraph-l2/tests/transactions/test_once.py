"""Operations that have a name are done once, and rows may be written by other processes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from tx_support import CITY, KNOWS, PERSON, add, edge, ids, load_once, write_elsewhere

from omnigraph_l1.failpoints import handling
from omnigraph_l2 import Repository, Transaction
from omnigraph_l2.errors import DanglingEdges, DuplicateIds, InvalidData, InvalidRequest
from omnigraph_testing import Crash


def load(repo: Repository, name: str, row: str) -> Transaction:
    """Do an operation."""
    with repo.transaction(operation_hash=name) as tx:
        tx.append(PERSON, [{"id": row}])
    return tx


def test_an_operation_is_done_once(repo: Repository) -> None:
    """The same name again gives the first commit, whatever is asked for the second time."""
    first = load(repo, "h", "x")
    assert not first.is_repeat
    assert first.commit is not None
    assert first.commit.operation_hash == "h"
    version = repo.snapshot().version
    for row in ("x", "y"):
        again = load(repo, "h", row)
        assert again.is_repeat
        assert again.commit == first.commit
    assert repo.snapshot().version == version
    assert load(repo, "another", "y").commit != first.commit
    assert ids(repo, PERSON) == ["a", "b", "x", "y"]


def test_an_operation_that_failed_is_not_done(repo: Repository) -> None:
    """Only what was published counts."""
    with pytest.raises(DuplicateIds):
        load(repo, "h", "a")
    assert not load(repo, "h", "x").is_repeat


def test_two_do_one_operation_at_once(repo: Repository) -> None:
    """The second finds the first one's commit when it comes to publish."""
    with repo.transaction(operation_hash="h") as tx:
        tx.append(PERSON, [{"id": "x"}])
        first = load(repo, "h", "x")
    assert tx.commit == first.commit
    assert ids(repo, PERSON) == ["a", "b", "x"]


def test_an_operation_that_the_catalog_has_dropped_meanwhile(repo: Repository) -> None:
    """A slow writer finds what another did, though the catalog was pruned since it looked."""
    theirs: list[Transaction] = []

    def meanwhile(name: str) -> None:
        if name == "l2.table.committed" and not theirs:
            with Repository.open(repo.uri, durability="none") as other:
                theirs.append(other.transaction(operation_hash="h"))
                with theirs[0] as tx:
                    tx.append(CITY, [{"id": "x"}])
                for number in range(130):
                    add(other, f"{number}", table_key=CITY)

    with handling(meanwhile), repo.transaction(operation_hash="h") as mine:
        mine.append(PERSON, [{"id": "x"}])
    assert mine.commit == theirs[0].commit
    assert ids(repo, PERSON) == ["a", "b"]


def test_another_process_repeats_it(repo: Repository, omnigraph_crash: Crash) -> None:
    """Names hold across processes."""
    first = omnigraph_crash.run(load_once, repo.uri).value
    second = omnigraph_crash.run(load_once, repo.uri).value
    assert (first[0], False) == tuple(first)
    assert tuple(second) == (first[0], True)
    assert repo.log(limit=1)[0].actor_id == "other"


def test_a_name_is_never_forgotten(repo: Repository) -> None:
    """Also after its row has left the catalog, when only the log has it, in a new handle."""
    first = load(repo, "h", "x")
    assert first.commit is not None
    number = 0
    while repo._branch("main").catalog.refresh().state.commit(first.commit.graph_commit_id):
        number += 1
        assert number < 400
        add(repo, f"p{number}")
    repo.close()
    with Repository.open(repo.uri) as fresh:
        state = fresh._branch("main").catalog.refresh().state
        assert not state.operations
        assert state.commit(first.commit.graph_commit_id) is None
        assert load(fresh, "h", "y").commit == first.commit
        log = fresh.log()
        assert len(log) == number + 3
        for after, before in zip(log[:-1], log[1:], strict=True):  # noqa: RUF007
            assert after.parent_commit_id == before.graph_commit_id
        at = fresh.snapshot(commit=first.commit.graph_commit_id)
        assert sorted(at.read(PERSON)["id"].to_pylist()) == ["a", "b", "x"]


def test_rows_that_another_process_wrote(repo: Repository, omnigraph_crash: Crash) -> None:
    """A target is pickled, writes elsewhere, and its rows come in with the transaction's own."""
    with repo.transaction() as tx:
        target = pickle.dumps(tx.stage(PERSON))
        parts = [
            pickle.loads(omnigraph_crash.run(write_elsewhere, target, rows).value)
            for rows in ([{"id": "s1"}], [{"id": "s2"}, {"id": "s3"}])
        ]
        assert [part.rows for part in parts] == [1, 2]
        assert all(part.size_bytes > 0 for part in parts)
        tx.append(PERSON, [{"id": "c"}])
        tx.append_staged(PERSON, parts)
        assert tx.read(PERSON).num_rows == 6
    assert ids(repo, PERSON) == ["a", "b", "c", "s1", "s2", "s3"]


WRONG: list[tuple[type[Exception], Callable[[Transaction], Any]]] = [
    (DuplicateIds, lambda tx: tx.append_staged(PERSON, tx.stage(PERSON).write([{"id": "a"}]))),
    (
        InvalidRequest,
        lambda tx: tx.append_staged(PERSON, [tx.stage(PERSON).write([{"id": "s"}])] * 2),
    ),
    (
        DuplicateIds,
        lambda tx: (
            tx.append(PERSON, [{"id": "s"}]),
            tx.append_staged(PERSON, tx.stage(PERSON).write([{"id": "s"}])),
        ),
    ),
    (InvalidData, lambda tx: tx.stage(PERSON).write([{"id": None}])),
    (
        DanglingEdges,
        lambda tx: tx.append_staged(KNOWS, tx.stage(KNOWS).write([edge("f", "a", "no")])),
    ),
]


@pytest.mark.parametrize(("kind", "wrong"), WRONG, ids=range(len(WRONG)))
def test_staged_rows_are_checked(
    repo: Repository, kind: type[Exception], wrong: Callable[[Transaction], Any]
) -> None:
    """Rows that come from elsewhere are held to the same rules."""
    with pytest.raises(kind), repo.transaction() as tx:
        wrong(tx)
    assert ids(repo, PERSON) == ["a", "b"]


def test_staged_rows_beside_an_upsert(repo: Repository) -> None:
    """An upsert rewrites rows into files of its own; these are not the rows that came in."""
    with repo.transaction() as tx:
        tx.upsert(PERSON, [{"id": "a", "name": "Anna", "age": 9}])
        tx.append_staged(PERSON, tx.stage(PERSON).write([{"id": "s"}]))
    assert ids(repo, PERSON) == ["a", "b", "s"]


def test_staged_rows_after_a_lost_race(repo: Repository) -> None:
    """They are used again, and each is there once."""
    with repo.transaction() as tx:
        tx.append_staged(PERSON, tx.stage(PERSON).write([{"id": "s"}]))
        add(repo, "theirs")
    assert ids(repo, PERSON) == ["a", "b", "s", "theirs"]


def test_a_target_shows_no_secret(repo: Repository) -> None:
    """What is printed of a target is its table."""
    with repo.transaction() as tx:
        target = tx.stage(PERSON)
        staged = target.write([{"id": "s"}])
    for each in (target, staged):
        assert "node:Person" in repr(each)
        assert repo.uri not in repr(each)
