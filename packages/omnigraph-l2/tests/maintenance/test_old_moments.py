"""A tag or a branch on an old moment, made while a cleanup removes what that moment needs.

Either the cleanup has seen it, or its maker is told: nobody ends with one whose data is gone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from each_store import S3_AT_NIGHT
from forced_order import meanwhile
from sleepers import clean_in_its_sleep, stopped
from small_graph import PERSON, append, native_branches, people
from upkeepwork import NOTHING

from omnigraph_l1 import failpoints
from omnigraph_l2 import Repository, TableUpdate
from omnigraph_l2.errors import InvalidChange, SnapshotExpired

_DEADLINE = 60
_BEFORE = {"tag": "l2.tag.checked", "branch": "l2.branch.log_forked"}
_WRITTEN = {"tag": "l2.tag.written", "branch": "l2.branch.catalog_forked"}


def overwritten(repo: Repository) -> str:
    """Make a commit of which nothing is needed any more; name it."""
    old = append(repo, "a").graph_commit_id
    for name in "bc":
        with repo.transaction() as tx:
            tx.overwrite(PERSON, [{"id": name}])
    repo._leases.renew()
    return old


def make(repo: Repository, what: str, commit: str) -> None:
    """Make a tag or a branch that lasts."""
    (repo.tags if what == "tag" else repo.branches).create("old", commit)


def shown(repo: Repository, what: str) -> str:
    """Read what was made."""
    return people(repo, tag="old") if what == "tag" else people(repo, "old")


class Cleaner(threading.Thread):
    """A cleanup in a thread of its own, that waits at a step until it is told to go on."""

    def __init__(self, repo: Repository, point: str) -> None:
        super().__init__(daemon=True)
        self._repo = repo
        self._point = f"l2.cleanup.{point}"
        self._there, self._go_on = threading.Event(), threading.Event()
        self.removed = 0

    def run(self) -> None:
        """Do it."""
        self.removed = self._repo.cleanup(NOTHING, dry_run=False).table_versions.count

    def begin(self) -> None:
        """Start, and give the step time to be reached."""
        self.start()
        assert self._there.wait(_DEADLINE)

    def passes(self, name: str) -> None:
        """Wait at the step."""
        if name == self._point and not self._there.is_set():
            self._there.set()
            assert self._go_on.wait(_DEADLINE)

    def go_on(self) -> None:
        """Let it go on."""
        self._go_on.set()


@S3_AT_NIGHT
@pytest.mark.parametrize("what", ["tag", "branch"])
@pytest.mark.parametrize("point", ["announced", "planned", "table"])
def test_it_is_written_while_a_cleanup_is_at_work(
    repo: Repository, another: Repository, what: str, point: str
) -> None:
    """Before the cleanup looks it is seen; after that its maker waits, and looks what is left."""
    old = overwritten(repo)
    another._leases.for_writers_only()  # else its lease mostly says in time what it is about
    cleaner = Cleaner(repo, point)

    def handler(name: str) -> None:
        if name == _BEFORE[what]:
            cleaner.begin()
        elif name == _WRITTEN[what]:
            cleaner.go_on()
        else:
            cleaner.passes(name)

    with failpoints.handling(handler):
        if point == "announced":
            make(another, what, old)
        else:
            with pytest.raises(SnapshotExpired):
                make(another, what, old)
        cleaner.join(_DEADLINE)
    if point == "announced":
        assert shown(repo, what) == "a"
    else:
        assert cleaner.removed
        assert repo.tags.list() == []
        assert [each.name for each in repo.branches.list()] == ["main"]
        assert native_branches(repo, "__manifest") == set()
    assert repo.verify().ok


@contextmanager
def removed_meanwhile(repo: Repository) -> Iterator[None]:
    """Let a cleanup that has made its plan go on once the block has come to where it waits."""
    cleaner = Cleaner(repo, "planned")

    def handler(name: str) -> None:
        if name == "l2.lease.renewed" and threading.current_thread() is not cleaner:
            cleaner.go_on()
        cleaner.passes(name)

    with failpoints.handling(handler):
        cleaner.begin()
        try:
            yield
        finally:
            cleaner.go_on()
            cleaner.join(_DEADLINE)
    assert cleaner.removed


def test_an_old_commit_is_merged_while_a_cleanup_is_at_work(
    repo: Repository, another: Repository
) -> None:
    """What it would bring is about to be removed: the merge waits, and is refused."""
    repo.branches.create("side")
    old = overwritten(repo)
    with removed_meanwhile(repo), pytest.raises(SnapshotExpired):
        another.branches.merge(old, into="side")
    assert repo.verify().ok


def old_version(repo: Repository) -> TableUpdate:
    """Name a version of a table that its branch has left behind."""
    entry = repo.snapshot(commit=overwritten(repo)).tables[PERSON]
    return TableUpdate(
        table_key=PERSON, table_version=entry.table_version, row_count=entry.row_count
    )


def test_an_old_version_is_published_while_a_cleanup_is_at_work(
    repo: Repository, another: Repository
) -> None:
    """It is about to be removed: the publish waits, and is refused."""
    repo.branches.create("side")
    change = old_version(repo)
    repo._leases.renew()
    with removed_meanwhile(repo), pytest.raises(InvalidChange, match="cannot be opened"):
        another.publish([change], branch="side")
    assert repo.verify().ok


def test_a_cleanup_while_an_old_version_is_published(repo: Repository, another: Repository) -> None:
    """It is in no lease, because no head shows it: the cleanup leaves all tables as they are."""
    repo.branches.create("side")
    change = old_version(repo)
    held_back: list[bool] = []

    def clean() -> None:
        repo._leases.renew()
        held_back.append(repo.cleanup(NOTHING, dry_run=False).held_back)

    with meanwhile("l2.publish.planned", clean):
        another.publish([change], branch="side")
    assert people(repo, "side") == "a"
    another._leases.renew()  # it needs no more than the head
    clean()
    assert held_back == [True, False]
    assert people(repo, "side") == "a"
    assert repo.verify().ok


@pytest.mark.parametrize("what", ["tag", "branch"])
def test_a_cleanup_while_it_is_made(repo: Repository, another: Repository, what: str) -> None:
    """What is written before the cleanup begins is seen by it; what comes after is refused."""
    old = overwritten(repo)
    with meanwhile(_WRITTEN[what], lambda: repo.cleanup(NOTHING, dry_run=False)):
        make(another, what, old)
    assert shown(repo, what) == "a"
    (repo.tags if what == "tag" else repo.branches).delete("old")
    for each in (repo, another):
        each._leases.renew()  # it needs no more than the head
    repo.cleanup(NOTHING, dry_run=False)
    with pytest.raises(SnapshotExpired):
        make(another, what, old)
    assert repo.verify().ok


def test_a_branch_of_which_only_the_log_is_made(repo: Repository, another: Repository) -> None:
    """Nothing names it yet: a cleanup spares what is so young, and it becomes a whole branch."""
    append(repo, "a")
    with meanwhile("l2.branch.log_forked", lambda: another.cleanup(NOTHING, dry_run=False)):
        native = repo.branches.create("side").native_branch
    commit = append(repo, "b", branch="side")
    repo.flush()
    assert native in native_branches(repo, "_graph_commits.lance")
    assert another.log("side")[0] == commit
    assert another.verify().ok


@pytest.mark.integration
@pytest.mark.parametrize("what", ["tag", "branch"])
def test_a_cleanup_that_slept_removes_nothing_more(local: Repository, what: str) -> None:
    """It was taken for dead, and somebody relies on what it was about to remove."""
    old = overwritten(local)
    local.close()
    with Repository.open(local.uri, durability="none") as repo:
        with stopped(clean_in_its_sleep, repo.uri, "l2.cleanup.planned") as returned:
            make(repo, what, old)
        assert returned == ["LeaseLost"]
        assert shown(repo, what) == "a"
        assert repo.verify().ok
