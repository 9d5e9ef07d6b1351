"""What other processes do while a repository is looked after.

A test module has no name that another process can import; this module has.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from small_graph import PERSON, SCHEMA, append, leased, people

from omnigraph_l1 import table_path
from omnigraph_l2 import Repository
from omnigraph_l2.errors import SnapshotExpired

PEOPLE = table_path(PERSON)
NOTHING = timedelta(0)


def later(repo: Repository, **by: float) -> None:
    """Let a handle believe that it is later."""
    repo._clock = repo._leases._clock = lambda: datetime.now(timezone.utc) + timedelta(**by)


def table_versions(repo: Repository, native: str | None = None) -> list[int]:
    """List the versions of the table of people."""
    return repo._root.open(PEOPLE, branch=native).versions()


def fill(location: Path) -> list[str]:
    """Make a repository with all that a cleanup has to do with; most of it is of the dead."""
    with Repository.init(location / "repo", SCHEMA, durability="none") as repo:
        for name in "abcd":
            append(repo, name)
        repo.tags.create("kept", repo.log()[2].graph_commit_id)
        repo.branches.create("side")
        append(repo, "s", branch="side")
        for name in "efgh":
            append(repo, name)
        repo.branches.create("gone")
        append(repo, "z", branch="gone")
        gone = repo._pointers.get("gone")
        assert gone is not None
        repo._pointers.delete("gone", gone.native_branch)  # as a process leaves it that died
        run = repo.runs.begin()
        with run.transaction() as tx:
            tx.append(PERSON, [{"id": "r"}])
    return [str(location / "repo")]


def clean(uri: str) -> None:
    """Remove all that is not needed, as if all of it were of last week."""
    with leased(Repository.open(uri, durability="none")) as repo:
        later(repo, days=8)
        repo.cleanup(NOTHING, dry_run=False)


def shown(repo: Repository) -> dict[str, str]:
    """Read everything that must be there whatever was cleaned up."""
    (run,) = repo.runs.list("running")
    return {
        "main": people(repo),
        "side": people(repo, "side"),
        "kept": people(repo, tag="kept"),
        "run": " ".join(sorted(run.snapshot().read(PERSON)["id"].to_pylist())),
        "log": " ".join(commit.graph_commit_id for commit in repo.log()),
    }


def write_on(uri: str, options: Mapping[str, str] | None, number: int, count: int) -> int:
    """Publish beside others; give how often."""
    with leased(Repository.open(uri, options, durability="none")) as repo:
        for turn in range(count):
            repo.retry(lambda tx, turn=turn: _write(tx, number, turn))
    return count


def _write(tx: Any, number: int, turn: int) -> None:
    rows = [{"id": f"{number}-{turn}", "age": turn}]
    if turn % 3:
        tx.append(PERSON, rows)
    else:
        tx.upsert(PERSON, [*rows, {"id": f"{number}-{turn - 1}", "age": -1}])
        tx.delete(PERSON, ids=[f"{number}-{turn - 2}"])


def read_on(
    uri: str, options: Mapping[str, str] | None, ready: Any, stop: Any, *, holds: bool
) -> tuple[int, int]:
    """Read one snapshot, and the head, until told to stop; give how often, and the expiries.

    Without a lease the snapshot expires: it is older than those that a lease holds on to. Its rows
    never change. The last turn begins after the word to stop.
    """
    reads = expired = 0
    with leased(Repository.open(uri, options, durability="none")) as repo:
        if not holds:
            repo._leases.for_writers_only()
        newest = repo.snapshot()
        snapshot = newest if holds else repo.snapshot(version=newest.version - 1)
        first = snapshot.read(PERSON)
        versions = dict(snapshot.tables)
        ready.wait()
        last = False
        while not last:
            last = stop.is_set()
            try:
                with leased(Repository.open(uri, options, durability="none")) as fresh:
                    fresh._leases.for_writers_only()
                    again = fresh._references.snapshot_of(
                        fresh._references.at_version(fresh._branch("main"), snapshot.version)
                    )
                    for rows in (snapshot.read(PERSON), again.read(PERSON)):
                        assert rows.sort_by("id").equals(first.sort_by("id"))
                    assert dict(again.tables) == versions
            except SnapshotExpired:
                expired += 1
                assert not holds
            assert repo.snapshot().read(PERSON).num_rows > 0
            reads += 1
    return reads, expired


def clean_on(
    uri: str, options: Mapping[str, str] | None, stop: Any, cleaned: Any = None
) -> tuple[int, int]:
    """Clean up at zero age until told to stop; give how often, and how much went.

    ``cleaned`` is set once some of it went.
    """
    rounds = removed = 0
    with leased(Repository.open(uri, options, durability="none")) as repo:
        while True:
            last = stop.is_set()
            report = repo.cleanup(NOTHING, dry_run=False)
            assert report.failed == 0
            rounds, removed = rounds + 1, removed + report.table_versions.count
            if removed and cleaned is not None:
                cleaned.set()
            if last:
                return rounds, removed


def stop_in_transaction(uri: str, at_rest: Any, go_on: Any, told: Any) -> None:
    """Stand still in the middle of a transaction, as a process does that is stopped."""
    with leased(Repository.open(uri, durability="none")) as repo:
        repo._leases._seconds = 1.0
        try:
            with repo.transaction() as tx:
                tx.append(PERSON, [{"id": "late", "age": 1}])
                at_rest.set()
                go_on.wait()
        except Exception as error:  # noqa: BLE001 - the test tells what it should be
            told.put(type(error).__name__)
        else:
            told.put("published")


def scattered(repo: Repository) -> None:
    """Fill tables bit by bit, and delete some."""
    for name in "abcdef":
        append(repo, name, f"{name}2")
    with repo.transaction() as tx:
        tx.append("edge:Knows", [{"id": "ab", "src": "a", "dst": "b"}])
    with repo.transaction() as tx:
        tx.delete(PERSON, ids=["c2", "d2"])


def fill_scattered(location: Path) -> list[str]:
    """Make a repository to be killed in."""
    with Repository.init(location / "repo", SCHEMA, durability="none") as repo:
        scattered(repo)
    return [str(location / "repo")]


def optimize(uri: str) -> None:
    """Optimize everything."""
    with leased(Repository.open(uri, durability="none")) as repo:
        repo.optimize()


def optimize_on(uri: str, rounds: int) -> int:
    """Optimize and clean up at zero age again and again; give how often that came to anything."""
    done = 0
    with leased(Repository.open(uri, durability="none")) as repo:
        for _ in range(rounds):
            report = repo.optimize()
            done += sum(each.commit is not None for each in report.tables.values())
            repo.cleanup(NOTHING, dry_run=False)
    return done
