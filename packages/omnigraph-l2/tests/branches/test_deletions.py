"""The deletion of a branch is ordered with its commits: each is before it and known, or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from branchwork import delete_side, fill_with_branch, race_to_write_or_delete
from forced_order import meanwhile
from racing import race
from sizes import sized
from small_graph import PERSON, SCHEMA, append, people

from omnigraph_l2 import CommitOutcome, GraphSchema, NodeType, Repository, Run
from omnigraph_l2.errors import UnknownBranch
from omnigraph_l2.reports import Severity
from omnigraph_testing import AtPoint, Crash, FaultyS3

pytestmark = pytest.mark.integration


def test_what_was_acknowledged_is_known(repo: Repository) -> None:
    """Three processes write to a branch while a fourth deletes it: no commit of theirs is lost."""
    options = repo._root.storage.lance_options
    for _ in range(sized(2, 30)):
        repo.branches.create("side")
        found = race(
            race_to_write_or_delete, [(repo.uri, options, each) for each in ("p", "q", "r", None)]
        )
        acknowledged = [commit_id for each in found for commit_id in each]
        assert acknowledged
        assert [repo.commit(each).graph_commit_id for each in acknowledged] == acknowledged
        assert [each.name for each in repo.branches.list()] == ["main"]
    assert repo.verify().ok


@pytest.fixture
def other(local: Repository) -> Iterator[Repository]:
    """Another handle, as another process would have, on a repository with two more branches."""
    local.branches.create("other")
    append(local, "cat", branch="other")
    local.branches.create("side")
    append(local, "dan", branch="side")
    with Repository.open(local.uri, durability="none") as opened:
        yield opened


def _begin_run(repo: Repository) -> Run:
    run = repo.runs.begin("side")
    with run.transaction() as tx:
        tx.append(PERSON, [{"id": "run"}])
    return run


LATE: dict[str, Callable[[Repository], object]] = {
    "transaction": lambda repo: append(repo, "late", branch="side"),
    "merge": lambda repo: repo.branches.merge("other", "side"),
    "evolve": lambda repo: repo.evolve(GraphSchema(nodes=[NodeType("Town")]), branch="side"),
    "run": lambda repo: repo.runs.list()[0].publish(),
    "branch": lambda repo: repo.branches.create("kid", "side"),
    "tag": lambda repo: repo.tags.create("v1", "side"),
    "begin": lambda repo: repo.runs.begin("side"),
}


@pytest.mark.parametrize("operation", LATE)
def test_nothing_is_done_on_a_branch_once_its_deletion_is_decided(
    local: Repository, other: Repository, operation: str
) -> None:
    """Its name is still there at that moment; its commits are known before and after."""
    made = append(local, "eve", branch="side")
    _begin_run(local)
    told: list[str] = []

    def late() -> None:
        assert other.commit(made.graph_commit_id) == made
        with pytest.raises(UnknownBranch) as refused:
            LATE[operation](other)
        told.append(refused.value.branch)

    with meanwhile("l2.branch.closed", late):
        local.branches.delete("side", force=True)
    assert told == ["side"]
    assert local.commit(made.graph_commit_id) == made
    assert [each.name for each in local.branches.list()] == ["main", "other"]
    assert local.tags.list() == []


def test_a_commit_that_is_late(local: Repository, other: Repository) -> None:
    """The branch is deleted between the check of a commit and its write; its data stays, tagged."""
    local.tags.create("v1", "side")
    with (
        meanwhile("l2.publish.planned", lambda: other.branches.delete("side", force=True)),
        pytest.raises(UnknownBranch),
    ):
        append(local, "eve", branch="side")
    assert people(local, tag="v1") == "ann bob dan"


@pytest.fixture
def two(faulty_s3: FaultyS3) -> Iterator[tuple[Repository, Repository]]:
    """Two handles, as two processes have, on a repository with a branch that has written."""
    where, options = faulty_s3.uri("repo"), faulty_s3.storage_options
    with (
        Repository.init(where, SCHEMA, options) as writer,
        Repository.open(where, options) as deleter,
    ):
        writer.branches.create("side")
        append(writer, "ann", branch="side")
        yield writer, deleter


@pytest.mark.parametrize("was_seen", [False, True])
def test_a_commit_that_lands_where_the_branch_was(
    faulty_s3: FaultyS3, two: tuple[Repository, Repository], *, was_seen: bool
) -> None:
    """Its write is on its way while the branch goes with all its versions: nothing refuses it.

    That the writer's handle has moved the pointer past that commit before says nothing.
    """
    writer, deleter = two
    known = writer.log("side")[0]
    versions = "*/__manifest/tree/side.*/_versions/*"
    with ThreadPoolExecutor(1) as pool, faulty_s3.hold("PUT", key=versions) as held:
        late = pool.submit(append, writer, "bob", branch="side")
        held.wait()
        if was_seen:
            append(deleter, "cat", branch="side")
            append(deleter, "dan", branch="side")
            writer.flush()
        deleter.branches.delete("side")
        held.release()
        with pytest.raises(UnknownBranch):
            late.result(60)
    assert writer.commit(known.graph_commit_id) == known
    assert deleter.verify().ok


@pytest.mark.parametrize("point", ["l1.merge.visible", "l2.publish.visible"])
@pytest.mark.parametrize("durability", ["none", "full"])
def test_a_commit_that_landed_before(tmp_path: Path, durability: str, point: str) -> None:
    """The branch is deleted between its write and its acknowledgement: it is known all the same."""
    with (
        Repository.init(tmp_path / "repo", SCHEMA, durability=durability) as writer,
        Repository.open(tmp_path / "repo", durability=durability) as deleter,
    ):
        writer.branches.create("side")
        append(writer, "ann", branch="side")
        with meanwhile(point, lambda: deleter.branches.delete("side")):
            made = append(writer, "bob", branch="side")
        assert deleter.commit(made.graph_commit_id) == made
        assert deleter.verify().ok


def test_the_outcome_after_an_interruption(local: Repository, other: Repository) -> None:
    """The commit landed, the branch is gone, and its writer was interrupted: the archive knows."""

    def interrupt() -> None:
        other.branches.delete("side", force=True)
        raise KeyboardInterrupt

    tx = local.transaction("side")
    with meanwhile("l2.publish.visible", interrupt), pytest.raises(KeyboardInterrupt), tx:
        tx.append(PERSON, [{"id": "eve"}])
    assert tx.outcome is CommitOutcome.COMMITTED
    assert local.commit(tx.commit_id).graph_commit_id == tx.commit_id


@pytest.mark.parametrize("who", ["writer", "deleter", "creator", "cleaner"])
def test_who_meets_a_deletion_that_was_cut_short_finishes_it(
    omnigraph_crash: Crash, who: str
) -> None:
    """Killed after the decision: until then readers read, and then nothing is left of it."""
    (uri,) = fill_with_branch(omnigraph_crash.directory)
    omnigraph_crash.run(delete_side, uri, kill=AtPoint("l2.branch.closed"))
    with Repository.open(uri, durability="none") as repo:
        assert people(repo, "side") == "ann bob cat"
        made = repo.log("side")[0]
        if who == "writer":
            with pytest.raises(UnknownBranch):
                append(repo, "dan", branch="side")
        elif who == "deleter":
            repo.branches.delete("side")
        elif who == "cleaner":
            (found,) = repo.verify().findings
            assert (found.severity, found.kind) == (Severity.INFO, "branch-closed")
            repo.cleanup(dry_run=False)
        else:
            repo.branches.create("side")
            assert people(repo, "side") == "ann bob"
            append(repo, "dan", branch="side")
            repo.branches.delete("side")
        assert [each.name for each in repo.branches.list()] == ["main"]
        assert not list(Path(uri).glob("*/tree/*/*")), "a native branch was left"
        assert repo.commit(made.graph_commit_id) == made
        assert repo.verify().ok
