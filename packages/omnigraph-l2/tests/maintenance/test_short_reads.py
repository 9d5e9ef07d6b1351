"""Short reads take no lease and write nothing; a cleanup keeps what they may read."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name

import pytest
from sleepers import read_in_its_sleep, stopped
from small_graph import PERSON, SCHEMA, append, leased, people
from upkeepwork import NOTHING, later, table_versions

from omnigraph_l2 import Repository
from omnigraph_testing import Answer, FaultyS3, Rule

SHORT_READ_SECONDS: float = resolve_name("omnigraph_l2._model.deadlines:SHORT_READ_SECONDS")
_WRITING = ("PUT", "POST", "DELETE")
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_ROUNDS = 400


def overwrite(repo: Repository, *names: str) -> None:
    """Replace all people, each time by one."""
    for name in names:
        with repo.transaction() as tx:
            tx.overwrite(PERSON, [{"id": name}])


def wait_until(is_true: Callable[[], object]) -> None:
    """Wait for what another thread does, which it must."""
    tick = threading.Event()
    for _ in range(_ROUNDS):
        if is_true():
            return
        tick.wait(0.05)
    raise AssertionError


def files_below(location: str) -> dict[str, int]:
    """List all files, locks among them, and when each was written."""
    found = (path for path in Path(location).rglob("*"))
    return {str(path): path.stat().st_mtime_ns for path in found}


def test_a_short_read_in_a_store_changes_nothing(faulty_s3: FaultyS3) -> None:
    """Neither the first nor a warm one makes a PUT or a DELETE; closing makes none either."""
    uri, options = faulty_s3.uri("repo"), faulty_s3.storage_options
    with Repository.init(uri, SCHEMA, options) as repo:
        append(repo, "a")
    start = len(faulty_s3.requests)
    with Repository.open(uri, options) as repo:
        for _ in range(2):
            assert people(repo) == "a"
            assert [commit.actor_id for commit in repo.log()] == [None, None]
    assert [each for each in faulty_s3.requests[start:] if each.method in _WRITING] == []


def test_a_short_read_on_local_disk_leaves_nothing(local: Repository) -> None:
    """No lease, no lock, no folder."""
    append(local, "a")
    local.close()
    before = files_below(local.uri)
    with Repository.open(local.uri) as repo:
        assert people(repo) == "a"
        assert repo.log()
        assert repo.verify().ok
        assert repo.cleanup(NOTHING).count == 0
        assert files_below(local.uri) == before
    assert files_below(local.uri) == before


def test_what_was_visible_lately_stays(repo: Repository, another: Repository) -> None:
    """Whatever the retention is: its readers may have no lease."""
    append(repo, "a")
    snapshot = another.snapshot()
    overwrite(repo, "b", "c")
    assert another._leases.name is None
    assert repo.cleanup(NOTHING, keep_versions=1).table_versions.count == 0
    report = repo.cleanup(NOTHING, keep_versions=1, dry_run=False)
    assert (report.table_versions.count, report.catalog_versions.count) == (0, 0)
    assert snapshot.read(PERSON)["id"].to_pylist() == ["a"]


def test_the_clock_of_the_store_counts(local: Repository) -> None:
    """A machine whose clock is wrong keeps it all the same; what is older by the store's goes."""
    append(local, "a")
    overwrite(local, "b", "c")
    local.close()
    with Repository.open(local.uri, durability="none") as repo:
        later(repo, days=8)
        assert repo.cleanup(NOTHING, dry_run=False).table_versions.count == 0
    ago = time.time() - SHORT_READ_SECONDS
    for number, file in enumerate(sorted(Path(local.uri).glob("__manifest/_versions/*"))):
        os.utime(file, (ago - number - 10, ago - number - 10))  # the newest comes first
    with Repository.open(local.uri, durability="none") as repo:
        assert repo.cleanup(NOTHING, dry_run=False).table_versions.count == 3
        assert people(repo) == "c"


def test_a_snapshot_that_outlives_the_bound(repo: Repository, another: Repository) -> None:
    """The thread of its handle takes a lease for it, while it is not used at all."""
    append(repo, "a")
    another._leases.short_read_seconds = 3.0
    snapshot = another.snapshot()
    assert another._leases.name is None
    wait_until(lambda: another._leases.name is not None)
    overwrite(repo, "b", "c")
    assert leased(repo).cleanup(NOTHING, dry_run=False).failed == 0
    assert snapshot.read(PERSON)["id"].to_pylist() == ["a"]
    another.close()
    assert another._leases.name is None


def test_a_snapshot_that_is_gone_needs_none(local: Repository, another_local: Repository) -> None:
    """However long its handle is open."""
    append(local, "a")
    another_local._leases.short_read_seconds = 0.3
    another_local.snapshot()
    for _ in range(3):
        another_local._leases.beat(0.3)
    assert another_local._leases.name is None


def test_a_snapshot_that_slept_takes_a_lease_when_it_is_used(
    local: Repository, another_local: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thread slept, too."""
    append(local, "a")
    snapshot = another_local.snapshot()
    assert another_local._leases.name is None
    then = time.clock_gettime(_CLOCK) + SHORT_READ_SECONDS
    monkeypatch.setattr("omnigraph_l2._commit.leases.boottime_seconds", lambda: then)
    assert snapshot.read(PERSON).num_rows == 1
    assert another_local._leases.name is not None


def test_an_older_version_is_leased_at_once(repo: Repository, another: Repository) -> None:
    """It need not have been visible lately."""
    early = append(repo, "a").graph_commit_id
    overwrite(repo, "b", "c")
    snapshot = another.snapshot(commit=early)
    wait_until(lambda: another._leases.name is not None)
    leased(repo).cleanup(NOTHING, dry_run=False)
    assert snapshot.read(PERSON)["id"].to_pylist() == ["a"]


@pytest.mark.integration
def test_a_reader_that_slept_beyond_the_bound(local: Repository) -> None:
    """What was cleaned up expired; no wrong row is read."""
    append(local, "a")
    version = local.snapshot().tables[PERSON].table_version
    with stopped(read_in_its_sleep, local.uri) as returned:
        overwrite(local, "b", "c")
        local._leases.renew()
        leased(local).cleanup(NOTHING, dry_run=False)
        assert version not in table_versions(local)
    assert returned == ["SnapshotExpired"]


def test_a_verify_that_lasts_beyond_the_bound(
    local: Repository, another_local: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was removed since it began, and was not leased, is no damage."""
    append(local, *(f"{number:0200}" for number in range(50_000)))  # more than Lance remembers
    then = time.clock_gettime(_CLOCK) + 2 * SHORT_READ_SECONDS
    checked = resolve_name("omnigraph_l2._maintenance.verify.check_tables")

    def check_tables(*arguments: object) -> object:
        monkeypatch.undo()
        overwrite(local, "b", "c")
        local._leases.renew()
        leased(local).cleanup(NOTHING, dry_run=False)
        monkeypatch.setattr("omnigraph_l2._commit.leases.boottime_seconds", lambda: then)
        return checked(*arguments)

    monkeypatch.setattr("omnigraph_l2._maintenance.verify.check_tables", check_tables)
    assert another_local.verify().ok


_READ_ALL = """
import os, sys
from omnigraph_l2 import Repository

def read(location):
    with Repository.open(location) as repo:
        log = repo.log()
        assert repo.snapshot().read("node:Person").num_rows == 2
        assert repo.snapshot(commit=log[1].graph_commit_id).read("node:Person").num_rows == 1
        (changed,) = repo.diff(log[1].graph_commit_id, log[0].graph_commit_id).tables
        assert repo.verify().ok
        assert repo.cleanup().count == 0
        print(changed)

if len(sys.argv) > 2:
    read(sys.argv[2])  # imports what another user may not see
    os.setgroups([]), os.setgid(65534), os.setuid(65534)  # root ignores modes
read(sys.argv[1])
"""
_READ_ONLY = {
    "user": lambda location: [sys.executable, "-c", _READ_ALL, location, f"{location}-copy"],
    "mount": lambda location: [
        *("unshare", "--mount", "sh", "-c"),
        'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && exec "$2" -c "$3" "$1"',
        *("sh", location, sys.executable, _READ_ALL),
    ],
}


def _can_mount(location: str) -> bool:
    tried = ["unshare", "--mount", "mount", "--bind", location, location]
    try:
        return subprocess.run(tried, check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.integration
@pytest.mark.parametrize("how", _READ_ONLY)
def test_a_file_system_that_cannot_be_written(
    tmp_path_factory: pytest.TempPathFactory, how: str
) -> None:
    """Everything is read, compared and verified there."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user or mount a folder")
    base = tmp_path_factory.mktemp("readable")
    if how == "mount" and not _can_mount(str(base)):
        pytest.skip("this machine lets nobody mount a folder")
    for folder in (base, *list(base.parents)[:-2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    with Repository.init(base / "repo", SCHEMA, durability="none") as repo:
        append(repo, "a")
        append(repo, "b")
    (base / "repo").chmod(0o755)
    shutil.copytree(base / "repo", base / "repo-copy")
    before = files_below(str(base / "repo"))
    done = subprocess.run(
        _READ_ONLY[how](str(base / "repo")), check=False, capture_output=True, text=True
    )
    assert (set(done.stdout.split()), done.returncode) == ({PERSON}, 0), done.stderr
    assert files_below(str(base / "repo")) == before


def test_credentials_that_may_not_write(
    faulty_s3: FaultyS3, caplog: pytest.LogCaptureFixture
) -> None:
    """The same in a store. A lease that is refused is an event, and reading goes on."""
    uri, options = faulty_s3.uri("repo"), faulty_s3.storage_options
    with Repository.init(uri, SCHEMA, options) as repo:
        append(repo, "a")
        append(repo, "b")
    faulty_s3.inject(Rule(Answer(403), _WRITING))
    start = len(faulty_s3.requests)

    def written() -> list[str]:
        return [each.key for each in faulty_s3.requests[start:] if each.method in _WRITING]

    with Repository.open(uri, options) as repo:
        first, second = (commit.graph_commit_id for commit in repo.log()[1::-1])
        assert people(repo) == "a b"
        assert repo.verify().ok
        assert repo.cleanup().count == 0
        assert written() == []
        with caplog.at_level(logging.DEBUG, logger="omnigraph_l2"):
            old = repo.snapshot(commit=first)
            assert list(repo.diff(first, second).tables) == [PERSON]
            wait_until(lambda: "lease_not_taken" in caplog.text)
        assert old.read(PERSON).num_rows == 1
        assert all("/_refs/leases/" in key for key in written())
