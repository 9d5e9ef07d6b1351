"""What a cleanup removes, and what it never touches."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from small_graph import PERSON, append, native_branches, people
from upkeepwork import NOTHING, PEOPLE, fill, later, shown, table_versions

from omnigraph_l2 import Repository
from omnigraph_l2.errors import CorruptRepository, InvalidRequest, SnapshotExpired, UnknownVersion

_DAY = 86_400


def published(repo: Repository, *names: str) -> list[int]:
    """Publish one commit for each name; give the versions of the branch."""
    return [append(repo, name).manifest_version for name in names]


def test_it_only_tells_at_first(repo: Repository) -> None:
    """The dry run, which is the default, says what the real one does, and changes nothing."""
    published(repo, *"abcd")
    before = table_versions(repo)
    told = repo.cleanup(NOTHING)
    assert table_versions(repo) == before
    assert (told.dry_run, told.table_versions.count) == (True, 4)
    assert told.bytes >= told.table_versions.bytes > 0
    done = repo.cleanup(NOTHING, dry_run=False)
    assert (done.table_versions, done.bytes) == (told.table_versions, told.bytes)
    assert table_versions(repo) == before[4:]
    assert repo.cleanup(NOTHING, dry_run=False).count == 0
    assert people(repo) == "a b c d"


def test_what_is_young_stays(repo: Repository) -> None:
    """What was current within the retention is readable, what was current before is not."""
    versions = published(repo, *"abc")
    assert repo.cleanup(dry_run=False).count == 0
    later(repo, days=8)
    assert repo.cleanup(dry_run=False).table_versions.count == 3
    with pytest.raises(SnapshotExpired) as expired:
        people(repo, version=versions[0])
    assert (expired.value.branch, expired.value.version) == ("main", versions[0])
    with pytest.raises(UnknownVersion):
        people(repo, version=versions[-1] + 1000)
    assert people(repo) == "a b c"


def test_the_newest_commits_stay(repo: Repository) -> None:
    """As many as are asked for, of each branch, whatever their age."""
    versions = published(repo, *"abcde")
    later(repo, days=8)
    repo.cleanup(keep_versions=3, dry_run=False)
    assert [people(repo, version=each) for each in versions[2:]] == [
        "a b c",
        "a b c d",
        "a b c d e",
    ]
    with pytest.raises(SnapshotExpired):
        people(repo, version=versions[1])
    append(repo, "f")


def test_time_travel_to_a_catalog_that_outlived_its_tables(repo: Repository) -> None:
    """Versions of the catalog are kept for a day: the tables they show may be gone before."""
    versions = published(repo, *"abc")
    repo.cleanup(NOTHING, dry_run=False)
    snapshot = repo.snapshot(version=versions[0])
    with pytest.raises(SnapshotExpired) as expired:
        snapshot.read(PERSON)
    assert expired.value.table_key == PERSON
    with pytest.raises(SnapshotExpired):
        repo.branches.create("too-late", snapshot)
    with pytest.raises(SnapshotExpired):
        repo.tags.create("too-late", repo.log()[2].graph_commit_id)
    assert repo.tags.list() == []
    assert [each.name for each in repo.branches.list()] == ["main"]


def test_everything_that_is_needed_is_kept(tmp_path: Path) -> None:
    """Branches, tags, runs and the log; forks of the dead and old versions go."""
    (uri,) = fill(tmp_path)
    with Repository.open(uri, durability="none") as repo:
        before = shown(repo)
        later(repo, days=8)
        told = repo.cleanup(NOTHING)
        done = repo.cleanup(NOTHING, dry_run=False)
        assert done.forks.count == told.forks.count == 3
        assert done.table_versions.count > 0
        assert done.catalog_versions.count > 0
        assert shown(repo) == before
        for path in ("__manifest", "_graph_commits.lance", PEOPLE):
            assert not any(name.startswith("gone.") for name in native_branches(repo, path))
        (run,) = repo.runs.list("running")
        with run.transaction() as tx:
            tx.append(PERSON, [{"id": "r2"}])
        run.publish()
        append(repo, "s2", branch="side")
        repo.branches.create("again", "kept")
        append(repo, "x", branch="again")
        assert people(repo, "again") == "a b x"
        assert people(repo) == "a b c d e f g h r r2"
        assert people(repo, "side") == "a b c d s s2"
        later(repo, days=16)
        repo.cleanup(NOTHING, dry_run=False)
        assert people(repo, "again") == "a b x"
    with Repository.open(uri) as repo:
        assert repo.verify().ok


def test_what_a_run_left_that_has_ended(local: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose author died before its branch was removed: it goes, also where no other is at work."""
    append(local, "a")
    run = local.runs.begin()
    with run.transaction() as tx:
        tx.append(PERSON, [{"id": "r"}])
    with monkeypatch.context() as patch:
        patch.setattr("omnigraph_l2._api.runs.remove_natives", lambda *_: False)
        run.abort()
    later(local, days=8)
    assert local.cleanup(NOTHING, dry_run=False).forks.count == 3
    for path in ("__manifest", "_graph_commits.lance", PEOPLE):
        assert native_branches(local, path) == set()
    assert local.verify().findings == ()


def test_a_tag_that_goes_lets_go(repo: Repository) -> None:
    """What only a tag kept is removed when it is deleted."""
    published(repo, *"ab")
    repo.tags.create("t")
    published(repo, *"cd")
    repo.cleanup(NOTHING, dry_run=False)
    assert people(repo, tag="t") == "a b"
    repo.tags.delete("t")
    assert repo.cleanup(NOTHING, dry_run=False).table_versions.count == 1


def test_a_branch_keeps_what_it_started_from(repo: Repository) -> None:
    """Also where it never wrote to the table, and where the branch between them was deleted."""
    published(repo, *"ab")
    repo.branches.create("mid")
    append(repo, "m", branch="mid")
    repo.branches.create("kid", "mid")
    published(repo, *"cd")
    append(repo, "n", branch="mid")
    repo.branches.delete("mid", force=True)
    later(repo, days=8)
    repo.cleanup(NOTHING, dry_run=False)
    assert people(repo, "kid") == "a b m"
    append(repo, "k", branch="kid")
    repo.cleanup(NOTHING, dry_run=False)
    assert people(repo, "kid") == "a b k m"
    repo.branches.delete("kid")
    repo.cleanup(NOTHING, dry_run=False)
    assert native_branches(repo, "__manifest") == native_branches(repo, PEOPLE) == set()


def test_what_a_writer_has_not_published_stays(repo: Repository, another: Repository) -> None:
    """Staged files and committed versions of a transaction at work, whatever others clean up."""
    published(repo, *"ab")
    with repo.transaction() as tx:
        tx.append(PERSON, [{"id": "c", "age": 1}])
        tx.read(PERSON)  # commits to the table
        append(another, "x")
        another.cleanup(NOTHING, dry_run=False)
        tx.append(PERSON, [{"id": "d", "age": 1}])
        tx._tables[PERSON].was_read = False  # it may move on to what others published
    assert people(repo) == "a b c d x"
    another.cleanup(NOTHING, dry_run=False)
    assert people(another) == "a b c d x"


def test_a_fork_that_is_not_published_stays_whole(repo: Repository, another: Repository) -> None:
    """A branch that has published nothing of a table may be about to: no version of it goes."""
    published(repo, *"ab")
    native = repo.branches.create("side").native_branch
    with repo.transaction("side") as tx:
        for name in "cde":
            tx.append(PERSON, [{"id": name, "age": 1}])
            tx.read(PERSON)  # commits to the table
        before = table_versions(repo, native)
        another.cleanup(NOTHING, dry_run=False)
        assert table_versions(another, native) == before
    assert len(before) > 2
    assert people(another, "side") == "a b c d e"


def test_orphans_of_the_dead(local: Repository) -> None:
    """Files that no version names go after a week, and are counted apart."""
    published(local, *"ab")
    data = Path(local.uri) / PEOPLE / "data"
    files = set(data.iterdir())
    local.snapshot()._open(PERSON).write(pa.table({"id": ["never"]}))
    (orphan,) = set(data.iterdir()) - files
    assert local.cleanup(NOTHING, dry_run=False).orphan_files.count == 0
    long_ago = time.time() - 8 * _DAY
    os.utime(orphan, (long_ago, long_ago))
    told = local.cleanup(NOTHING)
    assert (told.orphan_files.count, told.orphan_files.bytes) == (1, orphan.stat().st_size)
    assert local.cleanup(NOTHING, dry_run=False).orphan_files == told.orphan_files
    assert not orphan.exists()
    assert people(local) == "a b"


def test_versions_above_what_is_visible_are_left(local: Repository) -> None:
    """What somebody left at the head of a table goes when the table has moved on."""
    published(local, *"ab")
    table = local._root.open(PEOPLE)
    table.delete("true")
    table.refresh().append(table.read())
    later(local, days=8)
    local.cleanup(NOTHING, dry_run=False)
    assert table_versions(local) == [3, 4, 5]
    append(local, "c")
    assert people(local) == "a b c"
    local.cleanup(NOTHING, dry_run=False)
    assert people(local) == "a b c"
    assert len(table_versions(local)) == 1


def test_what_cannot_be_read_stops_it(local: Repository) -> None:
    """Nobody knows what a tag needs that is damaged: nothing is removed."""
    published(local, *"abc")
    tags = Path(local.uri) / "_refs" / "tags"
    tags.mkdir(exist_ok=True)
    (tags / "bad.json").write_text("{")
    before = table_versions(local)
    with pytest.raises(CorruptRepository):
        local.cleanup(NOTHING, dry_run=False)
    assert table_versions(local) == before


@pytest.mark.parametrize(
    ("older_than", "keep"), [(timedelta(-1), None), (7, None), (NOTHING, 0), (NOTHING, True)]
)
def test_odd_arguments(local: Repository, older_than: object, keep: object) -> None:
    """A retention that is none is refused."""
    with pytest.raises(InvalidRequest):
        local.cleanup(older_than, keep)  # type: ignore[arg-type]
