"""The same operation again: what exists is given, and nothing is done twice."""

from __future__ import annotations

import pytest
from each_store import S3_AT_NIGHT
from runwork import OPERATION, TOWN, ids, left_behind, work

from omnigraph_l2 import Repository, RunStatus
from omnigraph_l2.errors import TransactionClosed


def test_a_running_run_is_resumed(repo: Repository) -> None:
    """With what it has done so far, whoever asks."""
    run = repo.runs.begin(operation_hash=OPERATION, actor="ann")
    work(run)
    with Repository.open(repo.uri, repo._root.storage.lance_options, durability="none") as other:
        same = other.runs.begin(operation_hash=OPERATION, actor="bob")
        assert (same.run_id, same.actor, same.status) == (run.run_id, "ann", RunStatus.RUNNING)
        assert same.snapshot().tables == run.snapshot().tables
    assert repo.runs.begin(operation_hash="another").run_id != run.run_id


def test_a_published_run_gives_its_result(repo: Repository) -> None:
    """For ever: also long after, and on another target."""
    run = repo.runs.begin(operation_hash=OPERATION)
    work(run)
    commit = run.publish()
    assert commit is not None
    assert commit.operation_hash == OPERATION
    same = repo.runs.begin(operation_hash=OPERATION)
    assert (same.run_id, same.status) == (run.run_id, RunStatus.PUBLISHED)
    assert same.published_commit_id == commit.graph_commit_id
    assert same.publish() == commit
    with pytest.raises(TransactionClosed):
        same.transaction()
    assert len(repo.runs.list()) == 1


@S3_AT_NIGHT
@pytest.mark.parametrize("end", ["abort", "fail"])
def test_a_run_that_came_to_nothing_is_begun_anew(repo: Repository, end: str) -> None:
    """Nothing of it was published, so the operation was not done: another run takes its place."""
    run = repo.runs.begin(operation_hash=OPERATION)
    work(run)
    run.abort() if end == "abort" else run.fail("no disk")
    second = repo.runs.begin(operation_hash=OPERATION)
    assert (second.run_id != run.run_id, second.status) == (True, RunStatus.RUNNING)
    assert repo.runs.begin(operation_hash=OPERATION).run_id == second.run_id
    work(second)
    commit = second.publish()
    assert repo.runs.begin(operation_hash=OPERATION).publish() == commit


@S3_AT_NIGHT
def test_a_transaction_with_the_hash_of_a_run_is_not_done_again(repo: Repository) -> None:
    """It gives the commit of the run."""
    run = repo.runs.begin(operation_hash=OPERATION)
    work(run)
    commit = run.publish()
    with repo.transaction(operation_hash=OPERATION) as tx:
        tx.append(TOWN, [{"id": "oslo"}])
    assert tx.commit == commit
    assert ids(repo, TOWN) == []


def test_a_run_with_the_hash_of_a_transaction_is_published_already(local: Repository) -> None:
    """Its commit is that of the transaction; no branch is made for it."""
    with local.transaction(operation_hash=OPERATION) as tx:
        tx.append(TOWN, [{"id": "oslo"}])
    for _ in range(2):
        run = local.runs.begin(operation_hash=OPERATION)
        assert run.status is RunStatus.PUBLISHED
        assert run.publish() == tx.commit
    assert left_behind(local) == set()
    assert len(local.runs.list()) == 1


def test_a_transaction_that_was_faster_than_the_run(local: Repository) -> None:
    """The run gives the transaction's commit, and what it did is thrown away."""
    run = local.runs.begin(operation_hash=OPERATION)
    work(run)
    with local.transaction(operation_hash=OPERATION) as tx:
        tx.append(TOWN, [{"id": "oslo"}])
    assert run.publish() == tx.commit
    assert ids(local, TOWN) == ["oslo"]
    assert len(local.log()) == 3
    assert local.runs.get(run.run_id).published_commit_id == tx.commit.graph_commit_id  # type: ignore[union-attr]


def test_steps_of_a_run_have_hashes_of_their_own(local: Repository) -> None:
    """A process that resumes a run skips the steps that are done."""
    run = local.runs.begin(operation_hash=OPERATION)
    for _ in range(2):
        resumed = local.runs.begin(operation_hash=OPERATION)
        with resumed.transaction(operation_hash="step 1") as tx:
            if not tx.is_repeat:
                tx.append(TOWN, [{"id": "oslo"}])
    assert run.publish() is not None
    assert ids(local, TOWN) == ["oslo"]
