"""Migrations that are killed, and that race: real processes, and no row is ever missed."""

from __future__ import annotations

from pathlib import Path

import pytest
from old_catalogs import IDS, PERSON, ROWS, contents, ids, migrate_when_told, version_row, write_old
from racing import race

from omnigraph_l1 import Storage, Table, failpoints
from omnigraph_l2._manifest.migrations import check, migrate
from omnigraph_testing import AtPoint, Crash

pytestmark = pytest.mark.integration

BRANCH = "what-if.01hx"


def old(place: Path) -> tuple[str, None]:
    """Make an old catalog with rows that stand twice and three times."""
    write_old(Storage.resolve(place / "m"), ROWS, [PERSON, ROWS[2]], [PERSON])
    return str(place / "m"), None


def old_branch(place: Path) -> tuple[str, str]:
    """Make the same on a branch."""
    old(place)
    Table.open(place / "m").fork(BRANCH)
    return str(place / "m"), BRANCH


def migrate_it(place: str, branch: str | None) -> None:
    """Open the catalog, and migrate it."""
    migrate(Table.open(place, branch=branch))


def assert_ends_well(place: str, branch: str | None, message: str) -> None:
    """Readers see each row; the next one who migrates ends it, without help."""
    table = Table.open(place, branch=branch)
    assert check(table) in {1, 2}, message
    for version in table.versions():
        if version > 3:
            assert set(ids(table.at(version))) == set(IDS), f"{message}, version {version}"
    table = migrate(table)
    assert check(table) == 2, message
    assert ids(table) == IDS, message
    assert migrate(table) is table, message


@pytest.mark.parametrize("prepare", [old, old_branch], ids=["main", "branch"])
def test_killed_at_each_named_point(crash: Crash, prepare: object) -> None:
    """SIGKILL between any two steps that have a name, our own and those below."""
    places = []
    for crashed in crash.everywhere(migrate_it, prepare=prepare):  # type: ignore[arg-type]
        assert crashed.outcome.killed
        assert_ends_well(*crashed.arguments, str(crashed))
        places.append(str(crashed.kill))
    assert len(places) == 3 * 4


def test_killed_at_file_operations(crash: Crash) -> None:
    """SIGKILL before a file operation, also those that have no name."""
    killed = crash.everywhere(migrate_it, prepare=old, by="file operations", limit=6, seed=5)
    for crashed in killed:
        assert_ends_well(*crashed.arguments, str(crashed))


def test_killed_again_and_again(crash: Crash, tmp_path: Path) -> None:
    """Each try comes one write further, and the last one ends it."""
    place, branch = old(tmp_path)
    names = crash.points(migrate_it, *old(tmp_path / "trial"))
    visible = names.count("l1.commit.visible")
    for attempt in range(visible):
        crash.run(migrate_it, place, branch, kill=AtPoint("l1.commit.visible"))
        assert set(ids(Table.open(place))) == set(IDS), attempt
    assert check(Table.open(place)) == 2
    assert_ends_well(place, branch, "after the last")


def test_every_declared_point_is_passed(crash: Crash, tmp_path: Path) -> None:
    """A step that no test is killed at would not be proven."""
    passed = set(crash.points(migrate_it, *old(tmp_path)))
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
        place = storage.child(f"round-{number}")
        twice = [[version_row(n) for n in range(part, 30, 2)] for part in (1, 2, 1)]
        before = write_old(place, ROWS[:2], *twice, [PERSON]).version
        if branch is not None:
            Table.open(place).fork(branch)
        race(migrate_when_told, [(place, branch)] * processes)
        table = Table.open(place, branch=branch)
        assert check(table) == 2
        assert check(Table.open(place)) == (2 if branch is None else 1)
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
