"""Migrations that are killed, and that race: real processes, and no row is ever missed."""

from __future__ import annotations

from pathlib import Path

import pytest
from old_catalogs import (
    IDS,
    NEWEST,
    PERSON,
    ROWS,
    check_internal_schema,
    contents,
    ids,
    migrate_at_once,
    migrate_internal_schema,
    version_row,
    write_old,
)
from racing import race
from sizes import commit_seed, sized

from campaign.traced_crash import TracedCrash
from omnigraph_l1 import Storage, Table, failpoints
from omnigraph_testing import AtPoint, Crash

pytestmark = pytest.mark.integration

BRANCH = "what-if.01hx"


def old(location: Path) -> tuple[str, None]:
    """Make an old catalog with rows that stand twice and three times."""
    write_old(Storage.resolve(location / "m"), ROWS, [PERSON, ROWS[2]], [PERSON])
    return str(location / "m"), None


def old_branch(location: Path) -> tuple[str, str]:
    """Make the same on a branch."""
    old(location)
    Table.open(location / "m").fork(BRANCH)
    return str(location / "m"), BRANCH


def migrate_it(location: str, branch: str | None) -> None:
    """Open the catalog, and migrate it."""
    migrate_internal_schema(Table.open(location, branch=branch))


def assert_ends_well(location: str, branch: str | None, message: str) -> None:
    """Readers see each row; the next one who migrates ends it, without help."""
    table = Table.open(location, branch=branch)
    assert check_internal_schema(table) in range(1, NEWEST + 1), message
    for version in table.versions():
        if version > 3:
            assert set(ids(table.at(version))) == set(IDS), f"{message}, version {version}"
    table = migrate_internal_schema(table)
    assert check_internal_schema(table) == NEWEST, message
    assert ids(table) == IDS, message
    assert migrate_internal_schema(table) is table, message


@pytest.mark.parametrize("prepare", [old, old_branch], ids=["main", "branch"])
def test_killed_at_each_named_point(omnigraph_crash: Crash, prepare: object) -> None:
    """SIGKILL between any two steps that have a name, our own and those below."""
    places = []
    for crashed in omnigraph_crash.everywhere(migrate_it, prepare=prepare):  # type: ignore[arg-type]
        assert crashed.outcome.killed
        assert_ends_well(*crashed.arguments, str(crashed))
        places.append(str(crashed.kill))
    assert len(places) == 3 * 4


def test_killed_at_file_operations(traced_crash: TracedCrash) -> None:
    """SIGKILL before a file operation, also those that have no name."""
    killed = traced_crash.everywhere(
        migrate_it, prepare=old, by="file operations", limit=sized(2, 6), seed=commit_seed()
    )
    for crashed in killed:
        assert_ends_well(*crashed.arguments, str(crashed))


def test_killed_again_and_again(omnigraph_crash: Crash, tmp_path: Path) -> None:
    """Each try comes one write further, and the last one ends it."""
    location, branch = old(tmp_path)
    names = omnigraph_crash.points(migrate_it, *old(tmp_path / "trial"))
    visible = names.count("l1.commit.visible")
    for attempt in range(visible):
        omnigraph_crash.run(migrate_it, location, branch, kill=AtPoint("l1.commit.visible"))
        assert set(ids(Table.open(location))) == set(IDS), attempt
    assert check_internal_schema(Table.open(location)) == NEWEST
    assert_ends_well(location, branch, "after the last")


def test_every_declared_point_is_passed(omnigraph_crash: Crash, tmp_path: Path) -> None:
    """A step that no test is killed at would not be proven."""
    passed = set(omnigraph_crash.points(migrate_it, *old(tmp_path)))
    declared = {name for name in failpoints.declared() if name.startswith("l2.migrate.")}
    assert passed >= declared
    assert declared


@pytest.mark.parametrize(
    ("branch", "processes", "rounds"), [(None, 4, 2), (BRANCH, 3, 1)], ids=["main", "branch"]
)
def test_several_migrate_at_once(
    storage: Storage, branch: str | None, processes: int, rounds: int
) -> None:
    """All end well, the rows are those that were there, each once, and in each version all."""
    for number in range(rounds):
        location = storage.child(f"round-{number}")
        twice = [[version_row(n) for n in range(part, 30, 2)] for part in (1, 2, 1)]
        before = write_old(location, ROWS[:2], *twice, [PERSON]).version
        if branch is not None:
            Table.open(location).fork(branch)
        race(migrate_at_once, [(location, branch)] * processes)
        table = Table.open(location, branch=branch)
        assert check_internal_schema(table) == NEWEST
        assert check_internal_schema(Table.open(location)) == (NEWEST if branch is None else 1)
        wanted = sorted(
            [PERSON["object_id"], ROWS[1]["object_id"]]
            + [version_row(n)["object_id"] for n in range(1, 30)]
        )
        assert ids(table) == wanted
        old_rows = contents(table.at(before))
        assert [row for row in contents(table) if row not in old_rows] == []
        for version in table.versions():
            if version > before:
                assert sorted(set(ids(table.at(version)))) == wanted
