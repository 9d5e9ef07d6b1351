"""Runs: begin, work, publish, abort, fail, list."""

from __future__ import annotations

from contextlib import suppress

import pytest
from each_store import S3_AT_NIGHT
from runwork import (
    AFTER_WORK,
    COMPANY,
    KNOWS,
    PERSON,
    TOWN,
    ages,
    ids,
    left_behind,
    work,
)

from omnigraph_l2 import Repository, RunStatus
from omnigraph_l2.errors import (
    BranchInUse,
    InvalidRequest,
    RunConflict,
    TransactionClosed,
    UnknownBranch,
    UnknownRun,
)

BEFORE = {"ann": 1, "bob": 1, "cat": 1, "dan": 1}


def again(repo: Repository) -> Repository:
    """Open the same repository as another process would."""
    return Repository.open(repo.uri, repo._root.storage.lance_options, durability="none")


def test_a_run_is_seen_by_nobody_until_it_is_published(repo: Repository) -> None:
    """Then all of it is there at once, as one commit on main's own lineage."""
    head = repo.log()[0]
    run = repo.runs.begin(actor="ann")
    assert (run.status, run.target_branch) == (RunStatus.RUNNING, "main")
    assert run.base_commit_id == head.graph_commit_id
    work(run)
    assert ages(repo) == BEFORE
    assert ages(repo, run.branch) == AFTER_WORK
    assert sorted(run.snapshot().read(COMPANY)["id"].to_pylist()) == ["co"]
    commit = run.publish("all of it")
    assert commit is not None
    assert ages(repo) == AFTER_WORK
    assert ids(repo, COMPANY) == ["co"]
    assert (commit.run_id, commit.actor_id, commit.message) == (run.run_id, "ann", "all of it")
    assert repo.log(limit=2) == [commit, head]
    assert {each.table_branch for each in repo.snapshot().tables.values()} == {None}
    assert (run.status, run.published_commit_id) == (RunStatus.PUBLISHED, commit.graph_commit_id)


def test_nothing_is_left_of_a_run_that_ended(local: Repository) -> None:
    """No branch in any dataset, whatever its end; and none is listed meanwhile."""
    for end in ("publish", "abort", "fail"):
        run = local.runs.begin()
        work(run)
        assert left_behind(local) == {run.branch}
        assert [each.name for each in local.branches.list()] == ["main"]
        if end == "fail":
            run.fail("reason")
        else:
            getattr(run, end)()
        assert left_behind(local) == set()
        with local.transaction() as tx:
            tx.delete(COMPANY, "true")
    assert ages(local) == AFTER_WORK


def test_publishing_again_gives_the_same_commit(repo: Repository) -> None:
    """On the same handle, on another, and in another process; nothing happens twice."""
    run = repo.runs.begin()
    work(run)
    commit = run.publish()
    log = repo.log()
    assert run.publish() == commit
    with again(repo) as other:
        assert other.runs.get(run.run_id).publish() == commit
    assert repo.log() == log


@S3_AT_NIGHT
def test_what_it_did_not_touch_may_change(repo: Repository) -> None:
    """The target moved, elsewhere: published on top of that."""
    run = repo.runs.begin()
    work(run)
    with repo.transaction() as tx:
        tx.append(TOWN, [{"id": "oslo"}])
    commit = run.publish()
    assert commit is not None
    assert commit.parent_commit_id == tx.commit.graph_commit_id  # type: ignore[union-attr]
    assert (ages(repo), ids(repo, TOWN)) == (AFTER_WORK, ["oslo"])


@S3_AT_NIGHT
@pytest.mark.parametrize("how", ["read", "scan", "expect", "delete nothing", "read, then fail"])
def test_what_it_read_may_not_change(repo: Repository, how: str) -> None:
    """Whatever way of reading; also where the process that read is gone, and wrote nothing."""
    with again(repo) as worker:
        run = worker.runs.begin()
        work(run)
        with suppress(ZeroDivisionError), run.transaction() as tx:
            if how == "scan":
                tx.scan(TOWN).read_all()
            elif how == "expect":
                tx.expect(TOWN)
            elif how == "delete nothing":
                tx.delete(TOWN, "id = 'nowhere'")
            else:
                tx.read(TOWN)
            if how == "read, then fail":
                1 / 0  # noqa: B018 - what the caller's code might do
    with repo.transaction() as tx:
        tx.append(TOWN, [{"id": "oslo"}])
    resumed = repo.runs.get(run.run_id)
    with pytest.raises(RunConflict) as told:
        resumed.publish()
    assert (told.value.run_id, told.value.target) == (run.run_id, "main")
    assert told.value.tables == (TOWN,)
    assert ages(repo) == BEFORE
    assert resumed.refresh().status is RunStatus.RUNNING


@S3_AT_NIGHT
def test_what_it_wrote_may_not_change(repo: Repository) -> None:
    """All tables in the way are named; the other's rows stay as they are."""
    run = repo.runs.begin()
    work(run)
    with repo.transaction(check_edges=False) as tx:
        tx.delete(PERSON, ids=["dan"])
        tx.append(COMPANY, [{"id": "mine"}])
    with pytest.raises(RunConflict) as told:
        run.publish()
    assert told.value.tables == (COMPANY, PERSON)
    assert ids(repo, COMPANY) == ["mine"]
    run.abort()


@S3_AT_NIGHT
def test_edges_never_dangle_through_a_run(repo: Repository) -> None:
    """The ends were looked at when the edge was made: they may not change before it is there."""
    run = repo.runs.begin()
    with run.transaction() as tx:
        tx.append(KNOWS, [{"id": "e2", "src": "cat", "dst": "dan"}])
    with repo.transaction() as tx:
        tx.delete(PERSON, ids=["dan"])
    with pytest.raises(RunConflict) as told:
        run.publish()
    assert told.value.tables == (PERSON,)
    other = repo.runs.begin()
    with other.transaction() as tx:
        tx.delete(PERSON, ids=["cat"])
    with repo.transaction() as tx:
        tx.append(KNOWS, [{"id": "e3", "src": "cat", "dst": "ann"}])
    with pytest.raises(RunConflict) as told:
        other.publish()
    assert told.value.tables == (KNOWS,)


@S3_AT_NIGHT
def test_two_runs_at_once(repo: Repository) -> None:
    """They do not see each other; the second conflicts only if it touched the same."""
    first, second, third = (repo.runs.begin() for _ in range(3))
    for run, key in ((first, COMPANY), (second, TOWN), (third, TOWN)):
        with run.transaction() as tx:
            tx.append(key, [{"id": run.run_id}])
    first.publish()
    second.publish()
    with pytest.raises(RunConflict):
        third.publish()
    assert ids(repo, COMPANY) == [first.run_id]
    assert ids(repo, TOWN) == [second.run_id]


@S3_AT_NIGHT
def test_a_run_on_a_branch(repo: Repository) -> None:
    """Its commit is on that branch; main is as it was."""
    repo.branches.create("side")
    run = repo.runs.begin("side")
    work(run)
    commit = run.publish()
    assert ages(repo, "side") == AFTER_WORK
    assert ages(repo) == BEFORE
    assert repo.log("side")[0] == commit
    second = repo.runs.begin("side")
    with second.transaction() as tx:
        tx.delete(KNOWS, "true")
        tx.delete(PERSON, ids=["ann"])
    second.publish()
    assert "ann" not in ages(repo, "side")


@S3_AT_NIGHT
def test_a_branch_with_a_live_run_is_not_deleted(repo: Repository) -> None:
    """The run is named. With force it is aborted."""
    repo.branches.create("side")
    ended = repo.runs.begin("side")
    ended.abort()
    run = repo.runs.begin("side")
    work(run)
    with pytest.raises(BranchInUse) as told:
        repo.branches.delete("side")
    assert (told.value.runs, told.value.children) == ((run.run_id,), ())
    repo.branches.delete("side", force=True)
    assert repo.runs.get(run.run_id).status is RunStatus.ABORTED
    with pytest.raises(UnknownBranch):
        repo.snapshot("side")


def test_a_target_that_is_another_branch_by_now(local: Repository) -> None:
    """Deleted and created again under the name: the run is not published to that one."""
    local.branches.create("side")
    run = local.runs.begin("side")
    work(run)
    local._pointers.delete("side", local.branches.get("side").native_branch)
    local.branches.create("side")
    with pytest.raises(UnknownBranch):
        run.publish()
    assert ages(local, "side") == BEFORE
    run.abort()


@S3_AT_NIGHT
def test_a_run_that_changed_nothing(repo: Repository) -> None:
    """No commit; it is published all the same, and stays so."""
    head = repo.log()[0]
    run = repo.runs.begin()
    assert run.publish() is None
    assert (run.status, run.published_commit_id) == (RunStatus.PUBLISHED, None)
    assert run.publish() is None
    undone = repo.runs.begin()
    with undone.transaction() as tx:
        tx.append(TOWN, [{"id": "oslo"}])
    with undone.transaction() as tx:
        tx.delete(TOWN, ids=["oslo"])
    assert undone.publish() is None
    assert repo.log()[0] == head


def test_a_run_that_ended_takes_no_more(repo: Repository) -> None:
    """Neither work nor another end; the error says how it ended. The same end again is none."""
    aborted, failed, published = (repo.runs.begin() for _ in range(3))
    aborted.abort()
    aborted.abort()
    failed.fail("no disk")
    failed.fail("no disk")
    published.publish()
    for run, state in ((aborted, "aborted"), (failed, "failed"), (published, "published")):
        for use in (
            run.transaction,
            run.snapshot,
            *([] if run is aborted else [run.abort]),
            *([] if run is failed else [lambda run=run: run.fail("x")]),
            *([] if run is published else [run.publish]),
        ):
            with pytest.raises(TransactionClosed) as told:
                use()
            assert (told.value.what, told.value.state) == ("run", state)
    assert ages(repo) == BEFORE
    with again(repo) as other:
        assert other.runs.get(failed.run_id).reason == "no disk"
        assert other.runs.get(aborted.run_id).reason is None


def test_a_handle_learns_what_others_did(repo: Repository) -> None:
    """A run that somebody else aborted takes no transaction, and one begun before publishes not."""
    run = repo.runs.begin()
    tx = run.transaction().__enter__()
    tx.append(TOWN, [{"id": "oslo"}])
    with again(repo) as other:
        other.runs.get(run.run_id).abort()
    with pytest.raises(UnknownBranch):
        tx.__exit__(None, None, None)
    with pytest.raises(TransactionClosed):
        run.transaction()
    assert run.status is RunStatus.ABORTED


def test_listing(repo: Repository) -> None:
    """Oldest first, with actor and status; a status can be asked for."""
    first = repo.runs.begin(actor="ann")
    second = repo.runs.begin(actor="bob", operation_hash="op")
    third = repo.runs.begin()
    second.abort()
    third.publish()
    with again(repo) as other:
        listed = other.runs.list()
        assert [each.run_id for each in listed] == [first.run_id, second.run_id, third.run_id]
        assert [each.actor for each in listed] == ["ann", "bob", None]
        assert [each.operation_hash for each in listed] == [None, "op", None]
        assert [each.status.value for each in listed] == ["running", "aborted", "published"]
        assert [each.run_id for each in other.runs.list("running")] == [first.run_id]
        assert [each.run_id for each in other.runs.list(RunStatus.ABORTED)] == [second.run_id]
        assert all(each.updated_at >= each.created_at for each in listed)


@S3_AT_NIGHT
def test_what_cannot_be_asked_for(repo: Repository) -> None:
    """A typed error each, and nothing is begun."""
    for unknown in ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "", "main", None):
        with pytest.raises(UnknownRun):
            repo.runs.get(unknown)  # type: ignore[arg-type]
    with pytest.raises(UnknownBranch):
        repo.runs.begin("nope")
    with pytest.raises(InvalidRequest):
        repo.runs.begin("__run__x")
    with pytest.raises(InvalidRequest):
        repo.runs.list("done")
    assert repo.runs.list() == []


@S3_AT_NIGHT
@pytest.mark.parametrize("changes", ["append", "upsert", "delete", "replace", "revive", "all"])
def test_the_net_change_of_a_table(repo: Repository, changes: str) -> None:
    """Whatever a run does to a table in whatever steps, the target ends with the same rows."""
    with repo.transaction() as tx:
        tx.delete(KNOWS, "true")
    run = repo.runs.begin()

    def step(act: str, *args: object) -> None:
        with run.transaction() as tx:
            getattr(tx, act)(PERSON, *args)

    if changes in {"append", "all"}:
        step("append", [{"id": f"p{n}", "age": n} for n in range(50)])
        step("append", [{"id": "q", "nick": "Q"}])
    if changes in {"upsert", "all"}:
        step("upsert", [{"id": "ann", "age": 2}])
        step("upsert", [{"id": "ann", "nick": "A"}, {"id": "new", "nick": None}])
    if changes in {"delete", "all"}:
        step("delete", "id IN ('bob', 'q', 'new')")
    if changes == "replace":
        step("overwrite", [{"id": "ann", "age": 9}, {"id": "x", "age": 9}])
        step("upsert", [{"id": "x", "age": 10}])
    if changes in {"revive", "all"}:
        step("delete", "id = 'cat'")
        step("append", [{"id": "cat", "age": 77}])
    if changes == "all":
        step("delete", "age > 40 AND id != 'cat'")
    done = ages(repo, run.branch)
    nicks = sorted(run.snapshot().read(PERSON)["nick"].to_pylist(), key=str)
    assert done != BEFORE
    before = repo.snapshot().tables[PERSON]
    run.publish()
    assert ages(repo) == done
    assert sorted(repo.snapshot().read(PERSON)["nick"].to_pylist(), key=str) == nicks
    now = repo.snapshot().tables[PERSON]
    assert (now.table_branch, now.row_count) == (None, len(done))
    assert now.table_version > before.table_version


def test_a_table_that_only_runs_write_is_compacted(local: Repository) -> None:
    """The fragments of a table do not grow with the number of runs."""
    for number in range(34):
        run = local.runs.begin()
        with run.transaction() as tx:
            tx.append(COMPANY, [{"id": f"c{number}"}])
        run.publish()
    assert len(ids(local, COMPANY)) == 34
    assert len(local.snapshot().dataset(COMPANY).get_fragments()) < 20


def test_a_publish_outranks_the_registry_long_after(local: Repository) -> None:
    """Where the row of the end was never written, also once the catalog has dropped the commit."""
    run = local.runs.begin()
    work(run)
    commit = local.runs._publisher(run._record, local._branch("main"), 60.0).publish(None)
    assert commit is not None
    for number in range(130):
        with local.transaction() as tx:
            tx.append(TOWN, [{"id": str(number)}])
    held = [made.commit for made in local._branch("main").catalog.refresh().state.publishes]
    assert commit not in held
    local.flush()
    with again(local) as other:
        assert other.runs.list("running") == []
        (found,) = other.runs.list("published")
        assert found.published_commit_id == commit.graph_commit_id
        assert found.publish() == commit
