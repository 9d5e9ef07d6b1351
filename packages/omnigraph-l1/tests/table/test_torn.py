"""What a power cut leaves at the head: readers pass over it, the next writer sets it aside."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import pytest
from people import SCHEMA, TEARS, append_each, ids, newest_manifest, rows, tear, version_file
from sizes import sized

from omnigraph_l1 import Table
from omnigraph_l1.errors import CorruptDataset, StaleBranch


@pytest.mark.parametrize("how", TEARS)
def test_readers_go_on_with_the_newest_whole_version(local: Table, how: str) -> None:
    """Neither opening nor refreshing stumbles, and nothing is changed by looking."""
    whole = local.append(rows("a")).table
    whole.append(rows("lost"))
    tear(newest_manifest(local), how)
    before = sorted(local.location.local_path.rglob("*"))
    assert ids(Table.open(local.location).read()) == ["a"]
    assert ids(local.refresh().read()) == ["a"]
    assert ids(whole.refresh().read()) == ["a"]
    assert sorted(local.location.local_path.rglob("*")) == before


@pytest.mark.parametrize("how", TEARS)
def test_the_next_writer_sets_it_aside(local: Table, how: str) -> None:
    """The version number is used again, by a commit that follows the whole version."""
    local.append(rows("a")).table.append(rows("lost"))
    torn = newest_manifest(local)
    tear(torn, how)
    damaged = torn.read_bytes()
    commit = Table.open(local.location).append(rows("b"))
    assert commit.follows_base
    assert ids(Table.open(local.location).read()) == ["a", "b"]
    (aside,) = torn.parent.glob("*.torn-*")
    assert aside.read_bytes() == damaged


def test_every_way_of_writing_gets_over_it(local: Table) -> None:
    """Not only appends."""
    local = local.append(rows("a", "b")).table
    writes: list[Callable[[Table], object]] = [
        lambda t: t.upsert(rows("a", age=2), "id"),
        lambda t: t.delete("id = 'b'"),
        lambda t: t.cas_merge(rows("c"), key="id", write_id="w"),
        lambda t: t.overwrite(rows("d")),
        lambda t: t.restore(2),
        lambda t: t.create_index("id"),
        lambda t: t.tag("v"),
        lambda t: t.fork("side.1"),
    ]
    for write in writes:
        local.refresh().append(rows("lost"))
        tear(newest_manifest(local), "half")
        write(Table.open(local.location))
        assert "lost" not in ids(Table.open(local.location).read())


@pytest.mark.parametrize("how", TEARS)
def test_a_handle_opened_by_version_gets_over_a_torn_head_too(local: Table, how: str) -> None:
    """It never looked at the head before it wrote."""
    local = local.append(rows("a")).table
    local.append(rows("lost"))
    tear(newest_manifest(local), how)
    commit = Table.open(local.location, version=local.version).append(rows("b"))
    assert commit.follows_base
    assert ids(commit.table.read()) == ["a", "b"]


def test_several_torn_versions_are_all_passed_over(local: Table) -> None:
    """A power cut can take more than one unacknowledged version."""
    table = local.append(rows("a")).table
    for _ in range(3):
        table = table.append(rows("lost")).table
    for torn in sorted((local.location.local_path / "_versions").glob("*.manifest"))[:3]:
        tear(torn, "empty")
    assert ids(Table.open(local.location).read()) == ["a"]
    assert ids(Table.open(local.location).append(rows("b")).table.read()) == ["a", "b"]


def test_a_torn_head_of_a_branch(local: Table) -> None:
    """The same on a branch, with main whole."""
    branch = local.append(rows("a")).table.fork("side.1")
    branch.append(rows("b")).table.append(rows("lost"))
    versions = local.location.local_path / "tree" / "side.1" / "_versions"
    tear(min(versions.glob("*.manifest")), "half")
    again = Table.open(local.location, branch="side.1")
    assert ids(again.read()) == ["a", "b"]
    assert ids(again.append(rows("c")).table.read()) == ["a", "b", "c"]


def test_a_torn_head_of_main_does_not_stop_a_branch(local: Table) -> None:
    """A branch opens though main's head is damaged."""
    branch = local.append(rows("a")).table.fork("side.1")
    branch.append(rows("b"))
    local.refresh().append(rows("lost"))
    tear(newest_manifest(local), "zeros")
    assert ids(Table.open(local.location, branch="side.1").read()) == ["a", "b"]


@pytest.mark.parametrize("late", [False, True])
def test_a_branch_that_is_deleted_at_that_moment(
    local: Table, monkeypatch: pytest.MonkeyPatch, *, late: bool
) -> None:
    """Its files go while a writer looks whether they are whole: it is told that it is gone."""
    branch = local.append(rows("a")).table.fork("side.1")
    branch.append(rows("lost"))
    versions = local.location.local_path / "tree" / "side.1" / "_versions"
    tear(min(versions.glob("*.manifest")), "half")
    flock = fcntl.flock

    def delete_at_the_lock(descriptor: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        assert Path(f"/proc/self/fd/{descriptor}").readlink() == versions
        if not late:
            local.delete_branch("side.1")
        flock(descriptor, operation)
        if late:
            local.delete_branch("side.1")

    monkeypatch.setattr(fcntl, "flock", delete_at_the_lock)
    with pytest.raises(StaleBranch):
        branch.append(rows("b"))
    assert not versions.exists()


def own_data(table: Table) -> Path:
    """The data file that came with the newest version."""
    newest = table.dataset.get_fragments()[-1]
    return table.location.local_path / "data" / newest.data_files()[0].path


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: tear(path, "half"),
    "zeros": lambda path: tear(path, "zeros"),
    "missing": lambda path: path.unlink(),
}


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("write", ["append", "merge"])
def test_data_that_was_not_flushed_before_can_be_torn_too(
    tmp_path: Path, how: str, write: str
) -> None:
    """The version file may reach the platter before the data that it names."""
    table = Table.create(tmp_path / "t", SCHEMA, durability="none").append(rows("a")).table
    if write == "append":
        commit = table.append(rows("lost"))
    else:
        commit = table.cas_merge(rows("lost"), key="id", write_id="w")
    DAMAGE[how](own_data(commit.table))
    assert ids(Table.open(table.location).read()) == ["a"]
    assert ids(Table.open(table.location).append(rows("b")).table.read()) == ["a", "b"]


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("write", ["append", "merge"])
def test_data_that_was_flushed_and_is_damaged_is_corruption(
    local: Table, how: str, write: str
) -> None:
    """It was acknowledged: nobody passes over it in silence, reading it is an error."""
    table = local.append(rows("a")).table
    if write == "append":
        commit = table.append(rows("b"))
    else:
        commit = table.cas_merge(rows("b"), key="id", write_id="w")
    DAMAGE[how](own_data(commit.table))
    assert table.refresh().version == commit.version
    again = Table.open(local.location)
    assert again.version == commit.version
    with pytest.raises(CorruptDataset):
        again.read()
    assert again.append(rows("c")).version == commit.version + 1


def test_a_merge_that_was_not_acknowledged_stays_passed_over(local: Table) -> None:
    """The mark of what was flushed is a version file that nobody may write; a lost mark is none."""
    table = local.append(rows("a")).table
    merged = table.cas_merge(rows("b"), key="id", write_id="w").table
    file = version_file(merged, merged.version)
    assert not file.stat().st_mode & 0o222
    assert version_file(table, table.version).stat().st_mode & 0o200
    file.chmod(0o644)
    DAMAGE["half"](own_data(merged))
    assert Table.open(local.location).version == table.version


def test_a_mark_that_cannot_be_made_fails_no_merge(
    local: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems know no modes: there it stays unknown what was acknowledged."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "chmod", refuse)
    merged = local.cas_merge(rows("b"), key="id", write_id="w").table
    assert ids(merged.read()) == ["b"]


def test_a_damaged_older_version_is_corruption_when_asked_for(local: Table) -> None:
    """Only the head is passed over: who asks for a version gets it or an error."""
    local.append(rows("a"))
    tear(newest_manifest(local), "zeros")
    with pytest.raises(CorruptDataset):
        Table.open(local.location, version=2)


@pytest.mark.parametrize("how", TEARS)
def test_a_torn_creation_is_made_again(tmp_path: Path, how: str) -> None:
    """A dataset with no whole version was never acknowledged: there is nothing to lose."""
    table = Table.create(tmp_path / "t", SCHEMA)
    tear(newest_manifest(table), how)
    with pytest.raises(CorruptDataset):
        Table.open(tmp_path / "t")
    assert Table.create(tmp_path / "t", SCHEMA).count() == 0


@pytest.mark.integration
def test_several_writers_at_once_lose_nothing_that_was_acknowledged(local: Table) -> None:
    """Each sees the damage; none sets aside the whole version that another wrote at that time."""
    context = get_context("spawn")
    names = [f"w{number}" for number in range(4)]
    rounds = range(sized(8, 40))
    meet = context.Barrier(len(names) + 1, timeout=60)
    writers = [
        context.Process(
            target=append_each, args=(local.location.local_path, name, len(rounds), meet)
        )
        for name in names
    ]
    for writer in writers:
        writer.start()
    for _ in rounds:
        local.refresh().append(rows("lost"))
        tear(newest_manifest(local), "half")
        meet.wait()  # they open it
        meet.wait()  # they write
        meet.wait()  # they have written
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * len(names)
    everyone = sorted(f"{name}-{round_}" for name in names for round_ in rounds)
    assert ids(Table.open(local.location).read()) == everyone
