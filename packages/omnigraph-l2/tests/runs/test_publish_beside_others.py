"""A run that is published while others work in it, or while the store fails."""

from __future__ import annotations

from contextlib import suppress

import pytest
from forced_order import meanwhile
from runwork import COMPANY, SCHEMA, ids, left_behind, work

from omnigraph_l2 import CommitOutcome, Repository, Run, RunStatus
from omnigraph_l2.errors import (
    CommitOutcomeUnknown,
    InvalidRequest,
    RunConflict,
    TransactionClosed,
    UnknownBranch,
)
from omnigraph_testing import Answer, FaultyS3, Rule


def work_on_companies(run: Run) -> None:
    """Do one step."""
    with run.transaction() as tx:
        tx.append(COMPANY, [{"id": "co"}])


def again(repo: Repository) -> Repository:
    """Open the same repository as another process would."""
    return Repository.open(repo.uri, repo._root.storage.lance_options, durability="none")


@pytest.mark.parametrize(
    ("point", "is_taken"), [("l2.run.applied", True), ("l2.publish.planned", False)]
)
@pytest.mark.usefixtures("impatient")
def test_a_step_while_the_run_is_published(repo: Repository, point: str, *, is_taken: bool) -> None:
    """It is in the publish, or it is refused: what was acknowledged is not left out."""
    run = repo.runs.begin()
    work(run)
    taken: list[bool] = []

    def step() -> None:
        with again(repo) as other:
            late = other.runs.get(run.run_id)
            try:
                with late.transaction() as tx:
                    tx.append(COMPANY, [{"id": "late"}])
            except InvalidRequest:
                taken.append(False)
            else:
                taken.append(True)

    with meanwhile(point, step):
        run.publish()
    assert taken == [is_taken]
    assert ("late" in ids(repo, COMPANY)) == is_taken
    assert repo.verify().ok


@pytest.mark.usefixtures("impatient")
def test_a_step_that_is_late(repo: Repository) -> None:
    """It began before the run was closed, and commits after that: it is refused."""
    run = repo.runs.begin()
    work(run)
    with again(repo) as other:
        late = other.runs.get(run.run_id).transaction().__enter__()
        late.append(COMPANY, [{"id": "late"}])

        def commit() -> None:
            with pytest.raises(UnknownBranch):
                late.__exit__(None, None, None)

        with meanwhile("l2.run.closed", commit):
            run.publish()
        assert late.outcome is CommitOutcome.NOT_COMMITTED
    assert ids(repo, COMPANY) == ["co"]


@pytest.mark.parametrize("ending", ["publish", "abort"])
def test_two_end_a_run_that_has_done_nothing(local: Repository, ending: str) -> None:
    """Who comes second learns how it ended, not that an internal branch is missing."""
    run = local.runs.begin()

    def end() -> None:
        getattr(run, ending)()

    with again(local) as other:
        late = other.runs.get(run.run_id)
        with meanwhile("l2.lease.taken", end):
            if ending == "publish":
                assert late.publish() is None
                assert late.status is RunStatus.PUBLISHED
            else:
                with pytest.raises(TransactionClosed, match="aborted"):
                    late.publish()


@pytest.mark.usefixtures("impatient")
def test_a_step_that_landed_while_the_run_is_published(repo: Repository) -> None:
    """It is in the publish, but its writer finds the run gone: it cannot know."""
    run = repo.runs.begin()
    work(run)

    def publish() -> None:
        with again(repo) as other:
            other.runs.get(run.run_id).publish()

    with (
        meanwhile("l2.publish.visible", publish),
        pytest.raises(CommitOutcomeUnknown),
        run.transaction() as tx,
    ):
        tx.append(COMPANY, [{"id": "late"}])
    assert ids(repo, COMPANY) == ["co", "late"]


@pytest.mark.parametrize("point", ["l2.publish.visible", "l2.log.commits"])
@pytest.mark.usefixtures("impatient")
def test_what_becomes_of_a_step_is_said_alike(local: Repository, point: str) -> None:
    """Before it is acknowledged its writer cannot know any more; after that it is done."""
    run = local.runs.begin()

    def publish() -> None:
        with again(local) as other:
            other.runs.get(run.run_id).publish()

    tx = run.transaction()
    with meanwhile(point, publish), suppress(CommitOutcomeUnknown), tx:
        tx.append(COMPANY, [{"id": "co"}])
    assert ids(local, COMPANY) == ["co"]
    is_acknowledged = point == "l2.log.commits"
    expected = CommitOutcome.COMMITTED if is_acknowledged else CommitOutcome.UNKNOWN
    assert tx.outcome is expected
    assert (tx.commit is not None) is is_acknowledged


@pytest.mark.usefixtures("impatient")
def test_an_error_of_ones_own_beside_a_publish(local: Repository) -> None:
    """It is raised as it is, although the run takes no more steps."""
    run = local.runs.begin()
    work(run)

    def fail_in_transaction() -> None:
        with run.transaction() as tx:
            tx.read(COMPANY)
            run.publish()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_in_transaction()
    assert ids(local, COMPANY) == ["co"]


def test_a_registry_that_cannot_be_written(faulty_s3: FaultyS3) -> None:
    """The commit of the run says that it is published; the registry follows."""
    uri, options = faulty_s3.uri("repo"), faulty_s3.storage_options
    with Repository.init(uri, SCHEMA, options) as repo:
        run = repo.runs.begin()
        work_on_companies(run)
        faulty_s3.inject(Rule(Answer(403), "PUT", key="*/_graph_runs.lance/*"))
        commit = run.publish()
        assert commit is not None
        assert run.status is RunStatus.PUBLISHED
        faulty_s3.clear()
        assert run.publish() == commit
        assert repo.runs.list("published")[0].published_commit_id == commit.graph_commit_id


def test_the_reply_to_a_publish_of_a_run_is_lost(faulty_s3: FaultyS3) -> None:
    """Nothing can be read then, either: it is unknown, with the id to look for."""
    uri, options = faulty_s3.uri("repo"), faulty_s3.storage_options
    with Repository.init(uri, SCHEMA, options) as repo:
        run = repo.runs.begin()
        work_on_companies(run)
        with faulty_s3.hold("PUT", key="*/__manifest/_versions/*", cut=True) as held:
            refusal = Answer(403)
            rule = Rule(refusal, key="*__manifest*", predicate=lambda _: bool(held.operations))
            faulty_s3.inject(rule)
            with pytest.raises(CommitOutcomeUnknown) as unknown:
                run.publish(timeout=5)
            assert unknown.value.commit_id == run.run_id
            faulty_s3.clear()
            held.release()
        assert faulty_s3.wait_until_idle()
        assert repo.commit(run.run_id).run_id == run.run_id


@pytest.mark.usefixtures("impatient")
def test_a_run_that_is_refused_after_its_last_step(local: Repository) -> None:
    """It takes no more steps once its publish was checked; it can be published again, or end."""
    run = local.runs.begin()
    work(run)

    def overtake() -> None:
        with again(local) as other, other.transaction() as tx:
            tx.append(COMPANY, [{"id": "x"}])

    with meanwhile("l2.publish.planned", overtake), pytest.raises(RunConflict):
        run.publish()
    assert local.verify().ok
    with pytest.raises(InvalidRequest, match="its publish has begun"):
        run.transaction()
    with pytest.raises(RunConflict):
        run.publish()
    run.abort()
    assert local.verify().ok
    assert not left_behind(local)
