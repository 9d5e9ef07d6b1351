"""An interruption leaves a commit published or not, and says which; other threads go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from omnigraph_l1.failpoints import handling
from omnigraph_l2 import CommitOutcome, GraphSchema, NodeType, Repository, Transaction
from omnigraph_l2.errors import ConcurrentUse, TransactionClosed

A, B = "node:A", "node:B"
DEADLINE = 30.0


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    """A repository with two tables."""
    schema = GraphSchema(nodes=[NodeType("A"), NodeType("B")])
    with Repository.init(tmp_path / "repo", schema, durability="none") as made:
        with made.transaction() as tx:
            tx.append(A, [{"id": "first"}])
        yield made


def _commit(repo: Repository, key: str, name: str) -> Transaction:
    with repo.transaction() as tx:
        tx.append(key, [{"id": name}])
    return tx


def _steps_of_a_commit(repo: Repository) -> list[str]:
    seen: list[str] = []
    with handling(seen.append):
        _commit(repo, A, "looked at")
    return list(dict.fromkeys(seen))


def _interrupt_at(step: str) -> Callable[[str], None]:
    thread = threading.current_thread()

    def handler(name: str) -> None:
        if name == step and threading.current_thread() is thread:
            raise KeyboardInterrupt

    return handler


def test_at_each_step_of_a_commit(repo: Repository) -> None:
    """KeyboardInterrupt comes out as it is; ``outcome`` agrees with the log, then and later."""
    outcomes = set()
    for number, step in enumerate(_steps_of_a_commit(repo)):
        tx = repo.transaction()
        interrupted = False
        try:
            with handling(_interrupt_at(step)), tx:
                tx.append(A, [{"id": f"{number}"}])
        except KeyboardInterrupt:
            interrupted = True
        logged = {each.graph_commit_id for each in repo.log()}
        expected = (
            CommitOutcome.COMMITTED if tx.commit_id in logged else CommitOutcome.NOT_COMMITTED
        )
        assert tx.outcome is expected, step
        assert (f"{number}" in repo.snapshot().read(A)["id"].to_pylist()) == (
            tx.outcome is CommitOutcome.COMMITTED
        )
        outcomes.add((interrupted, tx.outcome))
        assert _commit(repo, B, f"after {number}").outcome is CommitOutcome.COMMITTED
    assert {(True, CommitOutcome.COMMITTED), (True, CommitOutcome.NOT_COMMITTED)} <= outcomes


@pytest.mark.parametrize("step", ["l2.publish.planned", "l1.merge.visible", "l2.publish.visible"])
def test_it_stays_in_its_thread(repo: Repository, step: str) -> None:
    """One thread leads for others and is interrupted: theirs are published all the same."""
    handler = _interrupt_at(step)
    with ThreadPoolExecutor(4) as threads:
        tx, others = repo.transaction(), []
        try:
            with handling(handler), tx:
                tx.append(A, [{"id": "interrupted"}])
                others = [threads.submit(_commit, repo, B, f"other {n}") for n in range(4)]
        except KeyboardInterrupt:
            done = [each.result(DEADLINE) for each in others]
        else:
            pytest.fail("nothing was interrupted")
    logged = {each.graph_commit_id for each in repo.log()}
    assert all(each.outcome is CommitOutcome.COMMITTED for each in done)
    assert {each.commit_id for each in done} <= logged
    assert (tx.commit_id in logged) == (tx.outcome is CommitOutcome.COMMITTED)
    assert repo.verify().ok


def test_before_and_without_a_commit(repo: Repository) -> None:
    """Nothing is committed before the end, nor by an exception, nor where nothing changed."""
    tx = repo.transaction()
    with tx:
        assert tx.commit_id
        assert tx.outcome is CommitOutcome.NOT_COMMITTED
    assert tx.outcome is CommitOutcome.NOT_COMMITTED
    left = repo.transaction()
    with pytest.raises(ZeroDivisionError), left:
        left.append(A, [{"id": str(1 // 0)}])
    assert left.outcome is CommitOutcome.NOT_COMMITTED
    with pytest.raises(TransactionClosed):
        left.append(A, [{"id": "x"}])


def test_a_transaction_is_not_shared(repo: Repository) -> None:
    """Another thread is refused while one is inside; nothing is lost, and one commit is made."""
    tx = repo.transaction()
    refused: list[BaseException | None] = []

    def use_it_at_the_same_time(name: str) -> None:
        if name == "l2.publish.planned" and not refused:
            calls: list[Callable[[], object]] = [
                lambda: tx.append(B, [{"id": "x"}]),
                lambda: tx.read(A),
                lambda: tx.__exit__(None, None, None),
            ]
            with ThreadPoolExecutor(1) as thread:
                refused.extend(thread.submit(call).exception(DEADLINE) for call in calls)

    with handling(use_it_at_the_same_time), tx:
        with ThreadPoolExecutor(1) as another:  # one after the other they may
            another.submit(tx.append, A, [{"id": "from another thread"}]).result(DEADLINE)
        tx.append(A, [{"id": "from here"}])
    assert [type(each) for each in refused] == [ConcurrentUse] * 3
    assert repo.snapshot().read(A).num_rows == 3
    assert [each.graph_commit_id for each in repo.log()].count(tx.commit_id) == 1
    with pytest.raises(TransactionClosed):
        tx.__exit__(None, None, None)
