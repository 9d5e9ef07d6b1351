"""Lost races: what is run again inside, and what is told."""

# ruff: noqa: PT012 - a transaction ends where its block does

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from tx_support import CITY, KNOWS, PERSON, add, delete_together, edge, ids, stranger

from omnigraph_l1 import failpoints
from omnigraph_l1.failpoints import handling
from omnigraph_l2 import Repository, Transaction
from omnigraph_l2.errors import DanglingEdges, DuplicateIds, ExpectedVersionMismatch


def data_files(repo: Repository, table_key: str) -> int:
    """Count the data files of a table, whoever wrote them."""
    path = Path(repo.uri) / repo.snapshot().tables[table_key].table_path
    return len(list((path / "data").glob("*.lance")))


def test_an_append_is_done_again_with_its_files(repo: Repository) -> None:
    """After a lost race each row is there once, and was written once."""
    with repo.transaction() as tx:
        tx.append(PERSON, [{"id": "mine"}])
        add(repo, "theirs")
        files = data_files(repo, PERSON)
    assert ids(repo, PERSON) == ["a", "b", "mine", "theirs"]
    assert data_files(repo, PERSON) == files
    log = repo.log()
    assert tx.commit == log[0]
    assert log[0].parent_commit_id == log[1].graph_commit_id


def test_an_append_that_meets_its_own_id(repo: Repository) -> None:
    """Who comes second with the same id is told."""
    with pytest.raises(DuplicateIds), repo.transaction() as tx:
        tx.append(PERSON, [{"id": "same"}])
        add(repo, "same")
    assert ids(repo, PERSON) == ["a", "b", "same"]


def test_an_upsert_is_computed_again(repo: Repository) -> None:
    """It replaces what others published meanwhile, and loses nothing else of theirs."""
    with repo.transaction() as tx:
        tx.upsert(PERSON, [{"id": "new", "age": 1}, {"id": "a", "age": 11}])
        with repo.transaction() as other:
            other.upsert(PERSON, [{"id": "new", "age": 2}, {"id": "b", "age": 22}])
    rows = {row["id"]: row for row in repo.snapshot().read(PERSON).to_pylist()}
    assert rows["new"]["age"] == 1
    assert (rows["a"]["age"], rows["b"]["age"]) == (11, 22)
    assert len(rows) == 3


def test_deleting_by_id_is_done_again(repo: Repository) -> None:
    """It means the same on a later version."""
    with repo.transaction() as tx:
        tx.delete(KNOWS, ids=["e"])
        with repo.transaction() as other:
            other.append(KNOWS, [edge("f", "b", "a")])
    assert ids(repo, KNOWS) == ["f"]


@pytest.mark.parametrize(
    "mine",
    [
        lambda tx: tx.delete(PERSON, "id = 'theirs'"),
        lambda tx: (tx.append(PERSON, [{"id": "x"}]), tx.delete(PERSON, "id = 'x'")),
        lambda tx: tx.overwrite(PERSON, [{"id": "a"}, {"id": "b"}]),
        lambda tx: (tx.append(PERSON, [{"id": "x"}]), tx.read(PERSON)),
        lambda tx: (tx.read(PERSON), tx.upsert(PERSON, [{"id": "a", "age": 5}])),
        lambda tx: (tx.scan(PERSON), tx.append(PERSON, [{"id": "x"}])),
        lambda tx: (tx.expect(PERSON), tx.append(PERSON, [{"id": "x"}])),
        lambda tx: (tx.expect(PERSON), tx.append(CITY, [{"id": "x"}])),
        lambda tx: tx.expect(PERSON),
    ],
    ids=range(9),
)
def test_what_cannot_be_moved_is_told(repo: Repository, mine: Callable[[Transaction], Any]) -> None:
    """What was decided by looking at the table is not put on top of another one."""
    before = repo.snapshot().tables[PERSON].table_version
    with pytest.raises(ExpectedVersionMismatch) as raised, repo.transaction() as tx:
        mine(tx)
        add(repo, "theirs")
    assert (raised.value.table_key, raised.value.expected) == (PERSON, before)
    assert raised.value.actual == repo.snapshot().tables[PERSON].table_version
    assert ids(repo, PERSON) == ["a", "b", "theirs"]
    assert ids(repo, CITY) == []


BESIDE: dict[str, Callable[[Repository, Transaction], Any]] = {
    "append": lambda repo, _: add(repo, "theirs"),
    "delete": lambda _, tx: tx.delete(PERSON, "id = 'd'"),
    "delete ids": lambda _, tx: tx.delete(PERSON, ids=["d"]),
    "update": lambda _, tx: tx.upsert(PERSON, [{"id": "d", "age": 1}]),
}


@pytest.mark.parametrize("others", BESIDE.values(), ids=BESIDE)
def test_a_filter_that_matches_the_same_rows(
    repo: Repository, others: Callable[[Repository, Transaction], Any]
) -> None:
    """Others changed different rows of the same fragment: both are published."""
    add(repo, "c", "d")
    with repo.transaction() as tx:
        tx.delete(PERSON, "id = 'c'")
        with repo.transaction() as other:
            others(repo, other)
        left = ids(repo, PERSON)
    assert ids(repo, PERSON) == [name for name in left if name != "c"]


@pytest.mark.parametrize(
    "others",
    [
        lambda tx: tx.upsert(PERSON, [{"id": "c", "age": 50}]),
        lambda tx: tx.upsert(PERSON, [{"id": "d", "age": 50}]),
        lambda tx: tx.upsert(PERSON, [{"id": "c", "age": 1}]),
        lambda tx: tx.upsert(PERSON, [{"id": "c", "age": 1}, {"id": "d", "age": 50}]),
        lambda tx: tx.delete(PERSON, ids=["c"]),
        lambda tx: tx.append(PERSON, [{"id": "e", "age": 50}]),
        lambda tx: tx.overwrite(PERSON, [{"id": "a"}, {"id": "b"}, {"id": "c", "age": 40}]),
    ],
    ids=range(7),
)
def test_a_filter_that_matches_other_rows(
    repo: Repository, others: Callable[[Transaction], Any]
) -> None:
    """A row that it matched was changed, or another one matches: it is the caller's to decide."""
    with repo.transaction() as tx:
        tx.append(PERSON, [{"id": "c", "age": 40}, {"id": "d", "age": 3}])
    with pytest.raises(ExpectedVersionMismatch), repo.transaction() as tx:
        tx.delete(PERSON, "age >= 40")
        with repo.transaction() as other:
            others(other)
        left = repo.snapshot().read(PERSON).sort_by("id")
    assert repo.snapshot().read(PERSON).sort_by("id").equals(left)


@pytest.mark.integration
def test_two_processes_delete_rows_of_one_fragment(repo: Repository) -> None:
    """Both have found their rows before either publishes, and both commit."""
    add(repo, "c", "d", "e")
    context = get_context("spawn")
    met = context.Barrier(2)
    jobs = [
        context.Process(target=delete_together, args=(repo.uri, f"id = '{name}'", met))
        for name in "ce"
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(120)
    assert [job.exitcode for job in jobs] == [0, 0]
    assert ids(repo, PERSON) == ["a", "b", "d"]


def test_other_tables_are_nobodys_business(repo: Repository) -> None:
    """A publish to a table that is not touched stops nothing."""
    with repo.transaction() as tx:
        tx.overwrite(CITY, [{"id": "rome"}])
        add(repo, "theirs")
    assert ids(repo, CITY) == ["rome"]


def test_retry_runs_the_whole_again(repo: Repository) -> None:
    """``repo.retry`` gives the function a fresh transaction after each lost race."""
    seen = []

    def grow(tx: Transaction) -> int:
        count = tx.read(PERSON).num_rows
        seen.append(count)
        if len(seen) < 3:
            add(repo, f"theirs-{count}")
        tx.append(PERSON, [{"id": f"mine-{count}"}])
        return count

    assert repo.retry(grow) == 4
    assert seen == [2, 3, 4]
    assert ids(repo, PERSON) == ["a", "b", "mine-4", "theirs-2", "theirs-3"]


def test_retry_gives_up(repo: Repository) -> None:
    """It is bounded, and then the typed error comes out."""

    def never(tx: Transaction) -> None:
        tx.expect(PERSON)
        add(repo, tx.commit_id)
        tx.append(CITY, [{"id": "rome"}])

    with pytest.raises(ExpectedVersionMismatch):
        repo.retry(never, attempts=2)
    assert len(ids(repo, PERSON)) == 4


def test_an_edge_against_its_end(repo: Repository) -> None:
    """An edge that is added and its end that is deleted at once: the second is told."""
    add(repo, "c")
    with pytest.raises(DanglingEdges), repo.transaction() as tx:
        tx.append(KNOWS, [edge("f", "a", "c")])
        with repo.transaction() as other:
            other.delete(PERSON, ids=["c"])
    add(repo, "c")
    with pytest.raises(DanglingEdges), repo.transaction() as tx:
        tx.delete(PERSON, ids=["c"])
        with repo.transaction() as other:
            other.append(KNOWS, [edge("f", "a", "c")])
    assert ids(repo, KNOWS) == ["e", "f"]
    assert "c" in ids(repo, PERSON)


CHANGES: dict[str, Callable[[Transaction], Any]] = {
    "append": lambda tx: tx.append(PERSON, [{"id": "c"}]),
    "upsert": lambda tx: tx.upsert(PERSON, [{"id": "a", "age": 7}, {"id": "c", "age": 8}]),
    "delete": lambda tx: (
        tx.append(PERSON, [{"id": "c"}, {"id": "d"}]),
        tx.delete(PERSON, "id = 'd'"),
    ),
    "delete ids": lambda tx: (
        tx.append(PERSON, [{"id": "c"}, {"id": "d"}]),
        tx.delete(PERSON, ids=["d"]),
    ),
    "overwrite": lambda tx: tx.overwrite(PERSON, [{"id": "a"}, {"id": "b"}, {"id": "c"}]),
    "staged": lambda tx: tx.append_staged(PERSON, tx.stage(PERSON).write([{"id": "c"}])),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_stranger_is_never_absorbed(repo: Repository, name: str) -> None:
    """Rows that somebody appends to the dataset by other means, between any two steps, stay out."""
    with handling(passed := [].append):  # type: ignore[var-annotated]
        stranger(repo, PERSON)
        with repo.transaction() as tx:
            CHANGES[name](tx)
    assert ids(repo, PERSON) == ["a", "b", "c"]
    steps = passed.__self__  # type: ignore[attr-defined]
    for number in range(len(steps)):
        with repo.transaction() as tx:
            tx.delete(PERSON, ids=["c"])
        left = [number]

        def meddle(_point: str, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == -1:
                stranger(repo, PERSON)

        with handling(meddle), repo.transaction() as tx:
            CHANGES[name](tx)
        assert ids(repo, PERSON) == ["a", "b", "c"], (number, steps)


def test_every_step_of_a_transaction_has_a_name(repo: Repository) -> None:
    """Those that the test above meddles with are passed for real."""
    with handling((passed := []).append), repo.transaction() as tx:
        stranger(repo, PERSON)
        tx.append(PERSON, [{"id": "c"}])
    assert (
        {
            "l2.table.restored",
            "l2.table.committed",
            "l2.publish.planned",
            "l2.publish.visible",
            "l2.pointer.advanced",
        }
        <= set(passed)
        <= set(failpoints.declared())
    )
