"""Native branches and tags: typed answers where Lance has traps."""

from __future__ import annotations

import pickle
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context

import pytest
from people import churn, ids, rows

from omnigraph_l1 import Storage, Table, list_objects, unique_branch_name
from omnigraph_l1.errors import (
    BranchExists,
    InvalidName,
    InvalidRequest,
    StaleBranch,
    TagExists,
    UnknownBranch,
    UnknownTag,
)


def test_a_branch_starts_where_it_was_forked_and_goes_its_own_way(table: Table) -> None:
    """What is committed on one side is not seen on the other; no data is copied."""
    start = table.append(rows("a")).table
    branch = start.fork(unique_branch_name("team/what-if"))
    assert branch.version == start.version
    branch = branch.append(rows("b")).table
    start = start.append(rows("c")).table
    assert ids(branch.read()) == ["a", "b"]
    assert ids(start.read()) == ["a", "c"]
    info = table.branches()[branch.branch or ""]
    assert (info.parent_branch, info.parent_version) == (None, 2)


def test_a_branch_of_a_branch(table: Table, storage: Storage) -> None:
    """Three deep, each opens with what it has."""
    parent, name = table.append(rows("a")).table, "main"
    for depth in range(3):
        name = unique_branch_name(f"level-{depth}")
        parent = parent.fork(name).append(rows(f"n{depth}")).table
    assert ids(Table.open(storage, branch=name).read()) == ["a", "n0", "n1", "n2"]
    assert len(table.branches()) == 3


def test_a_fork_at_an_older_version(table: Table) -> None:
    """The fork starts at the version that the handle is pinned to, not at the head."""
    old = table.append(rows("a")).table
    old.append(rows("b"))
    assert ids(old.fork("side.1").read()) == ["a"]


def test_a_name_that_is_taken(table: Table) -> None:
    """Lance says "internal error" here."""
    table.fork("side.1")
    with pytest.raises(BranchExists) as caught:
        table.fork("side.1")
    assert caught.value.listed


def test_a_name_that_is_taken_by_a_branch_of_other_versions(table: Table) -> None:
    """Lance says "version not found" here, of a version that is there."""
    table.fork("side.1")
    later = table.append(rows("a")).table.append(rows("b")).table
    with pytest.raises(BranchExists):
        later.fork("side.1")


def test_a_branch_with_children_stays(table: Table) -> None:
    """Its children would lose their rows."""
    table.fork("side.1").fork("side.2")
    with pytest.raises(InvalidRequest, match="branches of its own"):
        table.delete_branch("side.1")
    assert set(table.branches()) == {"side.1", "side.2"}


def test_branches_that_several_delete_at_once(table: Table, storage: Storage) -> None:
    """Each deletes its own: no deletion is reported as failed, and none leaves files behind."""

    def fork_and_delete(number: int) -> None:
        mine = Table.open(storage)
        for turn in range(20):
            mine.fork(f"b{number}.{turn}", fresh=True)
            mine.delete_branch(f"b{number}.{turn}")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(fork_and_delete, range(4)))
    assert table.branches() == {}
    names = [each.name for each in list_objects(storage)]
    assert [name for name in names if name.startswith("tree/")] == []


def test_the_remains_of_a_fork_that_was_cut_short(local: Table) -> None:
    """Its files are there, Lance does not list it: not opened, not forked under that name."""
    local.fork("side.1")
    (local.location.local_path / "_refs" / "branches" / "side.1.json").unlink()
    with pytest.raises(UnknownBranch):
        Table.open(local.location, branch="side.1")
    with pytest.raises(BranchExists) as caught:
        local.fork("side.1")
    assert not caught.value.listed
    assert "fresh name" in str(caught.value)
    assert local.fork(unique_branch_name("side")).count() == 0


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a b",
        "main",
        "a..b",
        "/a",
        "a/",
        "a//b",
        "a.lock",
        "a.lock/b",
        "a:b",
        "..",
        "a/.",
        "x" * 201,
        "人" * 20,
        "ä\n",
    ],
)
def test_names_that_lance_refuses_are_refused_by_us(local: Table, name: str) -> None:
    """Before anything is written, and with the rule in the message."""
    with pytest.raises(InvalidName) as caught:
        local.fork(name)
    assert caught.value.name == name
    assert local.branches() == {}


@pytest.mark.parametrize(
    "name", ["x" * 200, "人" * 13, "a", "A.b-c_d", "team/feature", "人", "été/1", "a.locked"]
)
def test_names_that_work(table: Table, storage: Storage, name: str) -> None:
    """Letters of any script, in segments."""
    table.fork(name).append(rows("a"))
    assert ids(Table.open(storage, branch=name).read()) == ["a"]
    assert list(table.branches()) == [name]
    table.delete_branch(name)
    assert table.branches() == {}


def test_a_handle_of_a_deleted_branch_does_not_write(table: Table) -> None:
    """Lance would let it."""
    branch = table.fork("side.1")
    staged = branch.stage_append(rows("a"))
    table.delete_branch("side.1")
    for write in (
        lambda: branch.commit(staged),
        lambda: branch.append(rows("b")),
        lambda: branch.restore(1),
        lambda: branch.fork("side.2"),
        lambda: branch.tag("v"),
        branch.compact,
        lambda: branch.cas_merge(rows("c"), key="id", write_id="w"),
    ):
        with pytest.raises(StaleBranch) as caught:
            write()
        assert caught.value.branch == "side.1"


def test_a_handle_does_not_write_into_a_new_branch_of_the_name(table: Table) -> None:
    """The name came back, the branch did not."""
    branch = table.fork("side.1").append(rows("a")).table
    table.delete_branch("side.1")
    new = table.fork("side.1")
    for attempt in (lambda: branch.append(rows("b")), branch.refresh):
        with pytest.raises(StaleBranch, match="created again"):
            attempt()
    assert new.refresh().count() == 0


def test_what_was_staged_or_sent_for_the_old_branch_is_refused_too(table: Table) -> None:
    """Staged changes and pickled handles remember which branch it was."""
    branch = table.fork("side.1")
    staged, sent = branch.stage_append(rows("a")), pickle.dumps(branch)
    table.delete_branch("side.1")
    new = table.fork("side.1")
    with pytest.raises(InvalidRequest):
        new.commit(staged)
    with pytest.raises(StaleBranch):
        pickle.loads(sent)
    with pytest.raises(StaleBranch):
        branch.remove_versions([1])


def test_fragments_for_the_old_branch_are_refused(table: Table) -> None:
    """Those that were written before it was deleted, and a target that would write more."""
    old = table.fork("b")
    written, target = old.write(rows("x")), old.write_target
    table.delete_branch("b")
    new = table.fork("b")
    with pytest.raises(InvalidRequest, match="another branch"):
        new.stage_written([written])
    with pytest.raises(StaleBranch):
        target.write(rows("y"))
    assert new.commit(new.stage_written([new.write_target.write(rows("z"))])).table.count() >= 1


def test_unique_names_never_repeat(local: Table) -> None:
    """They keep the name readable, and obey Lance's rule."""
    names = {unique_branch_name("team/x") for _ in range(100)}
    assert len(names) == 100
    assert all(name.startswith("team/x.") and name == name.lower() for name in names)
    with pytest.raises(InvalidName):
        unique_branch_name("a b")


def test_tags_name_versions(table: Table) -> None:
    """A tag is listed with what it names, and keeps that version from being removed."""
    table = table.append(rows("a")).table
    table.tag("v1.0")
    newest = table.append(rows("b")).table
    assert {name: tag.version for name, tag in newest.tags().items()} == {"v1.0": 2}
    with pytest.raises(TagExists):
        newest.tag("v1.0")
    with pytest.raises(InvalidRequest, match="tag"):
        newest.remove_versions([2])
    newest.delete_tag("v1.0")
    assert newest.tags() == {}
    with pytest.raises(UnknownTag):
        newest.delete_tag("v1.0")


def test_a_tag_on_a_branch(table: Table) -> None:
    """It says which lineage its version is of."""
    branch = table.fork("side.1").append(rows("a")).table
    branch.tag("v1")
    tag = table.tags()["v1"]
    assert (tag.branch, tag.version) == ("side.1", branch.version)


@pytest.mark.parametrize("name", ["", "a b", "ä", "a/b", "a..b", "a.lock"])
def test_tag_names_that_lance_cannot_keep(local: Table, name: str) -> None:
    """Some Lance takes, and can then never list its tags again."""
    with pytest.raises(InvalidName):
        local.tag(name)
    assert local.tags() == {}


@pytest.mark.integration
def test_listing_survives_what_others_delete(local: Table) -> None:
    """A branch that vanishes between its listing and its reading is simply not listed."""
    context = get_context("spawn")
    local.fork("stays.1")
    done = context.Event()
    process = context.Process(target=churn, args=(local.location.local_path, 150, done))
    process.start()
    listings = 0
    while not done.is_set() and process.is_alive():
        assert "stays.1" in local.branches()
        listings += 1
    process.join()
    assert process.exitcode == 0
    assert listings > 10


@pytest.mark.integration
def test_cleaning_survives_what_others_delete(local: Table) -> None:
    """A branch that vanishes while Lance looks what is needed is no damage."""
    context = get_context("spawn")
    done = context.Event()
    process = context.Process(target=churn, args=(local.location.local_path, 150, done))
    process.start()
    rounds = 0
    while not done.is_set() and process.is_alive():
        assert local.remove_orphans().failed == 0
        rounds += 1
    process.join()
    assert process.exitcode == 0
    assert rounds > 10


def test_a_deleted_branch_leaves_main_whole(local: Table) -> None:
    """Only what the branch alone had is gone."""
    local = local.append(rows("a")).table
    local.fork("side.1").append(rows("b"))
    local.delete_branch("side.1")
    assert ids(local.read()) == ["a"]
    assert not (local.location.local_path / "tree" / "side.1").exists()
    shutil.rmtree(local.location.local_path / "tree", ignore_errors=True)


def test_a_thread_that_looks_on(table: Table) -> None:
    """Lance bars other threads from a handle that makes or deletes a branch or a tag."""
    refused: list[Exception] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            try:
                assert table.version
            except RuntimeError as error:
                refused.append(error)
                return

    for change in (
        lambda: table.fork("side.1"),
        lambda: table.tag("v1"),
        lambda: table.delete_tag("v1"),
        lambda: table.delete_branch("side.1"),
    ):
        done.clear()
        looking = threading.Thread(target=look)
        looking.start()
        try:
            change()
        finally:
            done.set()
            looking.join()
        assert not refused
