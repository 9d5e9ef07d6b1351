"""Leases: who holds one loses nothing, who lost one is told before anything is published."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pyarrow as pa
import pytest
from forced_order import meanwhile
from small_graph import PERSON, SCHEMA, append, people
from upkeepwork import NOTHING, table_versions

from omnigraph_l1 import JsonRefs, Ref, Storage, table_path
from omnigraph_l2 import Repository
from omnigraph_l2.errors import (
    AccessDenied,
    CorruptRepository,
    LeaseLost,
    SnapshotExpired,
    TransactionClosed,
    UsedAfterFork,
)
from omnigraph_testing import Answer, FaultyS3, Rule

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""The clock by which a handle finds out for how long it slept."""


def lease_documents(repo: Repository) -> JsonRefs:
    """Open the documents of all leases of a repository."""
    storage = Storage.resolve(repo.uri, repo._root.storage.lance_options or None)
    return JsonRefs.open(storage, "_refs/leases", durability="none", reuse_names=False)


def leases(repo: Repository) -> list[dict[str, Any]]:
    """Read all leases of a repository."""
    return [ref.value for ref in lease_documents(repo).list()]


@contextmanager
def waking_after(monkeypatch: pytest.MonkeyPatch, seconds: float) -> Iterator[None]:
    """Let this process have slept, as it finds out when it wakes up."""
    then = time.clock_gettime(_CLOCK) + seconds
    with monkeypatch.context() as patch:
        patch.setattr("omnigraph_l2._commit.leases.boottime_seconds", lambda: then)
        yield


@pytest.mark.parametrize(
    "damage", [{"format": 2}, {"pins": None}, {"since": 3}, {"seconds": "long"}]
)
def test_a_lease_that_cannot_be_read(
    local: Repository, another_local: Repository, damage: dict[str, Any]
) -> None:
    """It is not taken for a lease that needs nothing."""
    append(local, "a")
    refs = lease_documents(local)
    (ref,) = refs.list()
    refs.replace(ref, {**ref.value, **damage})
    with pytest.raises(CorruptRepository):
        another_local.cleanup(NOTHING)


def test_a_handle_has_one_lease_as_long_as_it_is_open(repo: Repository) -> None:
    """From its first snapshot or transaction on; opening alone takes none."""
    assert leases(repo) == []
    for name in "abc":
        append(repo, name)
        repo.snapshot()
    assert len(leases(repo)) == 1
    repo.close()
    assert leases(repo) == []


def test_it_says_what_the_oldest_snapshot_needs(repo: Repository) -> None:
    """And moves on when that is gone."""
    append(repo, "a")
    snapshot = repo.snapshot()
    append(repo, "b")
    repo._leases.renew()
    assert leases(repo)[0]["pins"] == {"main": snapshot.version}
    del snapshot
    gc.collect()
    repo._leases.renew()
    assert leases(repo)[0]["pins"] == {"main": repo.snapshot().version}


def test_staged_files_are_needed_since_the_transaction_began(local: Repository) -> None:
    """A snapshot stages nothing."""
    long_ago = datetime(2026, 1, 1, tzinfo=timezone.utc)
    real = local._leases._clock
    local._leases._clock = lambda: long_ago
    snapshot = local.snapshot()
    with local.transaction() as tx:
        local._leases._clock = real
        tx.append(PERSON, [{"id": "a"}])
        local._leases.renew()
        assert leases(local)[0]["since"] == long_ago.isoformat()
    local._leases.renew()
    assert leases(local)[0]["since"] > long_ago.isoformat()
    assert snapshot.version


def test_who_holds_a_lease_loses_nothing(repo: Repository, another: Repository) -> None:
    """A snapshot, an old one, and one that only its rows hold on to."""
    append(repo, "a")
    early = repo.snapshot().version
    append(repo, "b")
    snapshot, old = repo.snapshot(), repo.snapshot(version=early)
    batches = repo.snapshot().scan(PERSON)
    for name in "cd":
        append(another, name)
    people(repo)
    repo._leases.renew()
    for _ in range(2):
        another.cleanup(NOTHING, dry_run=False)
    assert snapshot.read(PERSON).num_rows == 2
    assert old.read(PERSON)["id"].to_pylist() == ["a"]
    del snapshot, old
    gc.collect()
    repo._leases.renew()
    another.cleanup(NOTHING, dry_run=False)
    assert batches.read_all().num_rows == 2


def test_who_holds_none_is_told(repo: Repository, another: Repository) -> None:
    """A snapshot that lost its data expires, also where the handle had it open, never else."""
    another._leases.for_writers_only()
    append(repo, "a")
    snapshot = another.snapshot()
    assert leases(repo)[0]["process"] == os.getpid()
    with repo.transaction() as tx:
        tx.overwrite(PERSON, [{"id": "b"}])
    repo.cleanup(NOTHING, dry_run=False)
    with pytest.raises(SnapshotExpired):
        snapshot.read(PERSON)
    assert people(another) == "b"


def test_data_that_goes_while_it_is_read(repo: Repository, another: Repository) -> None:
    """A handle that has the version open already reads the right rows, or is told."""
    rows = pa.table({"id": [f"{number:0200}" for number in range(50_000)]})
    with repo.transaction() as tx:
        tx.append(PERSON, rows)
    another._leases.for_writers_only()
    batches = another.snapshot().scan(PERSON, batch_size=100)
    batches.read_next_batch()
    snapshot = another.snapshot()
    with repo.transaction() as tx:
        tx.overwrite(PERSON, [{"id": "b"}])
    assert repo.cleanup(NOTHING, dry_run=False).data_files == 1
    for read, most in ((lambda: snapshot.read(PERSON), 50_000), (batches.read_all, 49_900)):
        try:
            assert read().num_rows == most
        except SnapshotExpired as expired:
            assert expired.table_key == PERSON  # noqa: PT017 - either is right


def test_a_place_that_cannot_be_written(local: Repository, tmp_path: Path) -> None:
    """Is read without a lease; and what would be removed is told all the same."""
    append(local, "a")
    append(local, "b")
    local.close()
    moved = tmp_path / "repo"
    for folder in [moved, *(each for each in moved.rglob("*") if each.is_dir())]:
        folder.chmod(0o555)
    try:
        with Repository.open(moved) as repo:
            assert people(repo) == "a b"
            if os.getuid():  # root may write everywhere
                assert repo._leases.name is None
            assert repo.cleanup(NOTHING).table_versions.count == 2
    finally:
        for folder in [moved, *(each for each in moved.rglob("*") if each.is_dir())]:
            folder.chmod(0o755)


def bury(repo: Repository) -> None:
    """Take the lease of a handle away, as a cleanup does that took it for dead."""
    refs = lease_documents(repo)
    refs.delete(refs.get(repo._leases.name))


def test_who_slept_too_long_publishes_nothing(
    local: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks whether its lease is there still, and says so if not; then goes on anew."""
    append(local, "a")
    tx = local.transaction().__enter__()
    tx.append(PERSON, [{"id": "b"}])
    bury(local)
    with waking_after(monkeypatch, 1_000), pytest.raises(LeaseLost) as lost:
        tx.__exit__(None, None, None)
    assert lost.value.seconds >= 1_000
    assert people(local) == "a"
    assert len(local.log()) == 2
    append(local, "b")
    assert people(local) == "a b"


def test_rows_that_went_with_the_lease(local: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """That the files of a transaction are gone is no fault of the caller."""
    append(local, "a")
    data = Path(local.uri) / table_path(PERSON) / "data"
    before = set(data.iterdir())
    tx = local.transaction().__enter__()
    tx.append(PERSON, [{"id": "b"}])
    bury(local)
    for file in set(data.iterdir()) - before:
        file.unlink()
    with waking_after(monkeypatch, 1_000), pytest.raises(LeaseLost):
        tx.__exit__(None, None, None)
    assert people(local) == "a"


def test_who_slept_and_was_not_buried_goes_on(
    local: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease is renewed before the publish."""
    append(local, "a")
    with waking_after(monkeypatch, 1_000):
        append(local, "b")
    assert people(local) == "a b"


def test_a_lease_that_was_lost_is_lost_for_what_began_under_it(local: Repository) -> None:
    """Also where the handle has another one by now; ``repo.retry`` does it again."""
    turns = []

    def change(tx: Any) -> None:
        turns.append(1)
        tx.append(PERSON, [{"id": "a"}])
        if len(turns) == 1:
            bury(local)
            local._leases.renew()
            local.snapshot()

    local.retry(change)
    assert len(turns) == 2
    assert people(local) == "a"
    assert len(leases(local)) == 1


def test_a_handle_that_is_closed_while_it_publishes(
    local: Repository, another_local: Repository
) -> None:
    """What is being published is not removed, although its lease is not renewed any more."""
    append(local, "a")
    local.branches.create("side")
    with local.transaction() as tx:
        tx.overwrite(PERSON, [{"id": "b"}])

    def act() -> None:
        local.close()
        with another_local.transaction() as tx:
            tx.overwrite(PERSON, [{"id": "c"}])
        another_local._leases.renew()
        another_local.cleanup(NOTHING, dry_run=False)

    with meanwhile("l2.publish.planned", act):
        local.branches.merge("main", "side")
    assert people(another_local, "side") == "b"
    assert another_local.verify().ok


def test_a_writer_that_begins_while_its_handle_is_closed(
    local: Repository, another_local: Repository
) -> None:
    """The lease is gone, and the handle does not say yet that it is closed: nothing is written."""
    append(local, "a")

    def act() -> None:
        with pytest.raises(TransactionClosed):
            append(local, "b")

    with meanwhile("refs.local.removed", act):
        local.close()
    assert people(another_local) == "a"


def test_a_store_that_takes_no_lease(faulty_s3: FaultyS3) -> None:
    """Nothing is written without one, because a cleanup would not know of it."""
    options = faulty_s3.storage_options
    with Repository.init(faulty_s3.uri("repo"), SCHEMA, options) as repo:
        faulty_s3.inject(Rule(Answer(403), "PUT", key="*/_refs/leases/*"))
        with pytest.raises(AccessDenied):
            append(repo, "a")
        assert repo.snapshot().read(PERSON).num_rows == 0
        faulty_s3.clear()
        append(repo, "a")
        assert people(repo) == "a"


def test_a_renewal_whose_reply_was_lost(local: Repository) -> None:
    """Who finds another document under the name of its lease has written it."""
    append(local, "a")
    refs = lease_documents(local)
    (ref,) = refs.list()
    refs.replace(ref, ref.value)
    with local.transaction() as tx:
        tx.append(PERSON, [{"id": "b"}])
        local._leases.renew()
    assert people(local) == "a b"
    local.close()
    assert leases(local) == []


def test_a_lease_of_the_dead(local: Repository, tmp_path: Path) -> None:
    """It counts for twice its time after it was last renewed, by the clock of the store."""
    append(local, "a")
    dead = Repository.open(local.uri, durability="none")
    held = dead.snapshot()
    name, file = dead._leases.name, tmp_path / "repo" / "_refs" / "leases"
    for other in "bc":
        with local.transaction() as tx:
            tx.overwrite(PERSON, [{"id": other}])
    local.cleanup(NOTHING, dry_run=False)
    assert len(table_versions(local)) == 3
    silent = time.time() - 601
    os.utime(file / f"{name}.json", (silent, silent))
    assert local.cleanup(NOTHING).leases.count == 1
    report = local.cleanup(NOTHING, dry_run=False)
    assert (report.leases.count, report.table_versions.count) == (1, 2)
    assert len(table_versions(local)) == 1
    with pytest.raises(SnapshotExpired):
        held.read(PERSON)
    dead.close()


def test_a_renewal_that_comes_late_enough(
    local: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lease that is renewed while it is judged dead keeps what it covers."""
    append(local, "a")
    sleeper = Repository.open(local.uri, durability="none")
    held = sleeper.snapshot()
    append(local, "b")
    file = tmp_path / "repo" / "_refs" / "leases" / f"{sleeper._leases.name}.json"
    silent = time.time() - 601
    os.utime(file, (silent, silent))
    delete, judged = JsonRefs.delete, []

    def after_it_was_renewed(refs: JsonRefs, ref: Ref) -> None:
        judged.append(ref.name)
        sleeper._leases.renew()
        delete(refs, ref)

    with monkeypatch.context() as patch:
        patch.setattr(JsonRefs, "delete", after_it_was_renewed)
        local.cleanup(NOTHING, dry_run=False)
    assert judged == [sleeper._leases.name]
    assert held.read(PERSON).num_rows == 1
    sleeper.close()


def test_a_clock_that_is_wrong(local: Repository) -> None:
    """Whether a lease counts is told by the store's clock, whatever its holder believes.

    What it believes to need since long ago holds the cleanup back, and harms nothing.
    """
    append(local, "a")
    with Repository.open(local.uri, durability="none") as odd:
        odd._leases._clock = lambda: datetime.now(timezone.utc) - timedelta(days=400)
        held = odd.snapshot()
        append(local, "b")
        report = local.cleanup(NOTHING, dry_run=False)
        assert (report.leases.count, report.held_back) == (0, True)
        assert held.read(PERSON).num_rows == 1


def test_nothing_goes_while_somebody_writes_for_days(local: Repository) -> None:
    """Lance removes staged files after a week: tables are left alone before that."""
    append(local, "a")
    with Repository.open(local.uri, durability="none") as slow:
        slow._leases._clock = lambda: datetime.now(timezone.utc) - timedelta(days=6)
        with slow.transaction() as tx:
            tx.append(PERSON, [{"id": "late"}])
            append(local, "b")
            report = local.cleanup(NOTHING, dry_run=False)
            assert (report.held_back, report.table_versions.count) == (True, 0)
            slow._leases._clock = lambda: datetime.now(timezone.utc)
        assert people(local) == "a b late"


def test_a_branch_on_an_old_moment_waits_for_a_cleanup(
    local: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who cleans up may not have seen it; what is left is looked at when that has ended."""
    early = append(local, "a")
    append(local, "b")
    with Repository.open(local.uri, durability="none") as cleaner:
        cleaner._leases.announce(cleaning=True)
        waited = []
        monkeypatch.setattr(
            "omnigraph_l2._branch.revision_resolver.time.sleep",
            lambda _: (waited.append(1), cleaner._leases.announce(cleaning=False)),
        )
        local.branches.create("old", early.graph_commit_id)
        assert waited
    assert people(local, "old") == "a"


def close_here(repo: Repository) -> None:
    """Leave the block of a handle, as a child does that returns from its work."""
    with repo:
        pass


def show_here(repo: Repository) -> None:
    """Use a handle."""
    repo.snapshot()


def renew_here(repo: Repository) -> None:
    """Use the lease of a handle."""
    repo._leases.renew()


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:UserWarning")
@pytest.mark.parametrize("use", [Repository.close, close_here, show_here, renew_here])
def test_a_forked_child_leaves_the_lease_of_its_parent(
    local: Repository, use: Callable[[Repository], None]
) -> None:
    """Closing the handle there does nothing; using it is an error."""
    append(local, "a")
    before = leases(local)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            use(local)
            status = 0
        except UsedAfterFork:
            status = 2
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert leases(local) == before
    assert os.waitstatus_to_exitcode(status) == (0 if use is Repository.close else 2)
    append(local, "b")
    assert people(local) == "a b"
    local.close()
    assert leases(local) == []


def test_verify_in_a_process_that_slept_too_long(
    local: Repository, another_local: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What others removed since then, because its lease had expired, is no damage."""
    append(local, "a")
    append(local, "b")
    local.snapshot()
    slept: list[object] = []
    check_tables = resolve_name("omnigraph_l2._maintenance.verify.check_tables")

    def after_it_slept(*arguments: Any) -> Any:
        if not slept:
            slept.append(arguments)
            bury(local)
            for name in "bc":
                with another_local.transaction() as tx:
                    tx.overwrite(PERSON, [{"id": name}])
            another_local.optimize()
            another_local.cleanup(NOTHING, dry_run=False)
        return check_tables(*arguments)

    monkeypatch.setattr("omnigraph_l2._maintenance.verify.check_tables", after_it_slept)
    with waking_after(monkeypatch, 1_000):
        assert local.verify().ok
    assert slept
