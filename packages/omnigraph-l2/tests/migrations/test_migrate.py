"""From version 1 to 2: rows that stand twice, the annotation, the stamp; and further steps.

The first step is tested for itself, as if there were no other: what is added later breaks nothing
here. The further step is one of the test.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from old_catalogs import (
    IDS,
    KEY,
    KNOWS,
    MANIFEST_SCHEMA,
    PERSON,
    ROWS,
    STAMP,
    VERSION_1,
    arrow,
    check_internal_schema,
    contents,
    ids,
    migrate_internal_schema,
    migrations,
    plain,
    stamp,
    tree,
    version_row,
    write_old,
)

from omnigraph_l1 import Storage, Table
from omnigraph_l1.errors import CommitConflict
from omnigraph_l1.failpoints import handling
from omnigraph_l2.errors import CorruptRepository, TableContention, UpgradeRequired


@pytest.fixture(autouse=True)
def _version_2(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the newest version be the one that the first step leads to."""
    monkeypatch.setattr(migrations, "INTERNAL_MANIFEST_SCHEMA_VERSION", 2)


def assert_migrated(table: Table) -> None:
    """It is of version 2: stamped, annotated, and a key can be inserted once."""
    assert check_internal_schema(table) == 2
    assert (table.schema.field("object_id").metadata or {})[KEY.encode()] == b"true"
    assert table.schema.equals(MANIFEST_SCHEMA)
    rows = arrow([version_row(99)], table.schema)
    table.cas_merge(rows, key="object_id", write_id="first")
    with pytest.raises(CommitConflict):
        table.cas_merge(rows, key="object_id", write_id="second")


def test_an_old_catalog_becomes_a_new_one(storage: Storage) -> None:
    """Annotated and stamped, all rows and the config as they were; again, it changes nothing."""
    write_old(storage, ROWS[:2], ROWS[2:])
    before = contents(Table.open(storage))
    table = migrate_internal_schema(Table.open(storage))
    assert contents(table) == before
    assert dict(table.config) == {"table_version_management": "true"}
    assert migrate_internal_schema(table) is table
    assert migrate_internal_schema(Table.open(storage)).version == table.version
    assert_migrated(table)


def test_an_empty_old_catalog(storage: Storage) -> None:
    """There may be no row yet."""
    write_old(storage, [])
    assert_migrated(migrate_internal_schema(Table.open(storage)))


def test_an_explicit_one_is_migrated_too(local: Storage) -> None:
    """A stamp that says 1 is replaced."""
    write_old(local, ROWS).update_schema_metadata({STAMP: "1"})
    assert_migrated(migrate_internal_schema(Table.open(local)))


def test_an_annotated_catalog_is_only_stamped(storage: Storage) -> None:
    """Whoever died between the two writes, or another publisher: Lance sets it only once."""
    write_old(storage, ROWS).update_field_metadata({"object_id": {KEY: "true"}})
    table = Table.open(storage)
    assert check_internal_schema(table) == 1
    migrated = migrate_internal_schema(table)
    assert migrated.version == table.version + 1
    assert_migrated(migrated)


@pytest.mark.parametrize("stable_row_ids", [True, False])
def test_equal_rows_become_one(
    storage: Storage,
    stable_row_ids: bool,  # noqa: FBT001
) -> None:
    """Whether they came in one publish or in several, exactly the first of each is left."""
    twice = [ROWS, [PERSON, ROWS[3]], [PERSON, PERSON, version_row(7), version_row(7)]]
    write_old(storage, *twice, stable_row_ids=stable_row_ids)
    before = Table.open(storage).read(with_row_id=True)
    table = migrate_internal_schema(Table.open(storage))
    after = table.read(with_row_id=True)
    assert ids(table) == sorted([*IDS, version_row(7)["object_id"]])
    for row in after.to_pylist():
        same = [r for r in before.to_pylist() if r["object_id"] == row["object_id"]]
        assert row == min(same, key=lambda r: r["_rowid"])
    assert_migrated(table)


def test_the_version_at_which_a_row_came_is_that_of_the_first(local: Storage) -> None:
    """The row that is left is the one that was there first."""
    write_old(local, ROWS, [PERSON])
    table = migrate_internal_schema(Table.open(local))
    columns = ["object_id", "_row_created_at_version"]
    came = table.read(columns=columns, filter="object_id = 'node:Person'")
    assert came["_row_created_at_version"].to_pylist() == [1]


def test_many_equal_rows(local: Storage) -> None:
    """More than one delete can name."""
    many = [version_row(number) for number in range(1, 2300)]
    write_old(local, [PERSON, *many], many)
    table = migrate_internal_schema(Table.open(local))
    assert ids(table) == sorted(["node:Person", *(row["object_id"] for row in many)])


DIFFERENT = {
    "row_count": {**version_row(2, rows=3), "row_count": 4},
    "metadata": {**version_row(2, rows=3), "metadata": None},
    "location": {**KNOWS, "location": "edges/elsewhere"},
    "base_objects": {**PERSON, "base_objects": []},
    "table_branch": {**version_row(1), "table_branch": "what-if"},
}


@pytest.mark.parametrize("column", DIFFERENT)
def test_rows_that_differ_are_damage_and_nothing_is_changed(local: Storage, column: str) -> None:
    """Nobody knows which counts: the error names the row and the column; equal ones stay, too."""
    write_old(local, [*ROWS, PERSON, PERSON], [DIFFERENT[column], ROWS[2]])
    before = tree(local.location.local_path)
    with pytest.raises(CorruptRepository) as caught:
        migrate_internal_schema(Table.open(local))
    assert repr(DIFFERENT[column]["object_id"]) in caught.value.item
    assert column in caught.value.detail
    assert tree(local.location.local_path) == before


def test_each_branch_is_migrated_for_itself(local: Storage) -> None:
    """One that was forked before keeps version 1 until it is migrated, with rows of its own."""
    write_old(local, ROWS)
    branch = Table.open(local).fork("what-if.01hx")
    plain(branch).insert(arrow([version_row(3), PERSON]))
    main = migrate_internal_schema(Table.open(local))
    branch = Table.open(local, branch="what-if.01hx")
    assert (check_internal_schema(main), check_internal_schema(branch)) == (2, 1)
    migrated = migrate_internal_schema(branch)
    assert migrated.branch == "what-if.01hx"
    assert ids(migrated) == sorted([*IDS, version_row(3)["object_id"]])
    assert ids(main.refresh()) == IDS
    assert check_internal_schema(main.fork("later.01hx")) == 2
    assert_migrated(migrated)


def test_an_old_version_can_still_be_read(local: Storage) -> None:
    """What came before the migration stays what it was."""
    dataset = write_old(local, ROWS, [PERSON])
    table = migrate_internal_schema(Table.open(local)).at(dataset.version)
    assert check_internal_schema(table) == 1
    assert ids(table) == sorted([*IDS, "node:Person"])


MOMENTS = ["l2.migrate.collapsed", "l2.migrate.annotated", "l1.commit.staged_flushed"]


def write_at(moment: str, table: Table, row: dict[str, Any], *, hit: int) -> Callable[[str], None]:
    """Let an old program, which saw the catalog as it was at first, write at a moment."""
    seen: list[str] = []

    def at(name: str) -> None:
        seen.append(name)
        if name == moment and seen.count(name) == hit:
            old = lance.dataset(table.location.uri, version=table.version)
            lance.write_dataset(arrow([row]), old, mode="append")

    return at


HITS = [(moment, 1) for moment in MOMENTS] + [(MOMENTS[2], 2), (MOMENTS[2], 3)]


@pytest.mark.parametrize("row", [PERSON, version_row(8)], ids=["equal", "new"])
@pytest.mark.parametrize(("moment", "hit"), HITS)
def test_what_an_old_program_writes_meanwhile_is_taken_in(
    local: Storage, moment: str, hit: int, row: dict[str, Any]
) -> None:
    """Its row is kept, or collapsed, like one that was there before, up to the very stamp."""
    write_old(local, ROWS, [KNOWS])
    table = Table.open(local)
    with handling(write_at(moment, table, row, hit=hit)):
        migrated = migrate_internal_schema(table)
    assert ids(migrated) == sorted({*IDS, row["object_id"]})
    assert check_internal_schema(migrated) == 2


@pytest.mark.parametrize(("moment", "hit"), HITS)
def test_what_an_old_program_writes_meanwhile_may_be_damage(
    local: Storage, moment: str, hit: int
) -> None:
    """A row that contradicts another is told, whenever it came."""
    write_old(local, ROWS, [KNOWS])
    table = Table.open(local)
    with (
        handling(write_at(moment, table, {**PERSON, "location": "elsewhere"}, hit=hit)),
        pytest.raises(CorruptRepository, match="location"),
    ):
        migrate_internal_schema(table)
    assert set(ids(Table.open(local))) == set(IDS)


def test_a_migration_that_is_always_preempted_ends_in_an_error(
    local: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not go round for ever."""
    write_old(local, ROWS, [PERSON])
    rival = Table.open(local)
    as_before = rival.read()
    times: list[str] = []

    def preempt(name: str) -> None:
        if name == "l2.migrate.collapsed":
            times.append(name)
            with handling(lambda _: None):
                rival.refresh().overwrite(as_before)

    monkeypatch.setattr(migrations, "MIGRATION_SECONDS", 0.5)
    with handling(preempt), pytest.raises(TableContention):
        migrate_internal_schema(rival)
    assert times
    assert check_internal_schema(rival.refresh()) == 1


def step_2_to_3(table: Table) -> Table:
    """A further step, as somebody will write it: one write of its own, then the stamp."""
    if "note" not in table.schema.names:
        table = table.add_columns([pa.field("note", pa.string())]).table
    return stamp(table, 3)


@pytest.fixture
def version_3(_version_2: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next version: one constant, one step."""
    monkeypatch.setattr(migrations, "INTERNAL_MANIFEST_SCHEMA_VERSION", 3)
    monkeypatch.setitem(migrations.STEPS, 2, step_2_to_3)


@pytest.mark.usefixtures("version_3")
def test_a_further_step(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old catalog walks both; who does not know the step refuses what came of it."""
    write_old(storage, ROWS, [PERSON])
    versions = []
    table = Table.open(storage)
    with handling(lambda name: versions.append(name) if name.startswith("l2.") else None):
        table = migrate_internal_schema(table)
    assert versions == [
        "l2.migrate.collapsed",
        "l2.migrate.annotated",
        "l2.migrate.stamped",
        "l2.migrate.stamped",
    ]
    assert check_internal_schema(table) == 3
    assert table.schema.names == [*VERSION_1.names, "note"]
    assert ids(table) == IDS
    assert migrate_internal_schema(table) is table
    monkeypatch.setattr(migrations, "INTERNAL_MANIFEST_SCHEMA_VERSION", 2)
    with pytest.raises(UpgradeRequired, match="version 3"):
        check_internal_schema(table)


def here(handler: Callable[[str], None]) -> Callable[[str], None]:
    """Leave out points that other threads pass: the heartbeat of a lease of an earlier test."""
    own = threading.get_ident()
    return lambda name: handler(name) if threading.get_ident() == own else None


class Cut(Exception):
    """Ends a migration at a point."""


def test_what_was_prepared_before_a_stamp_is_refused(storage: Storage) -> None:
    """A program that does not know the new version, and has looked at the stamp, writes nothing."""
    write_old(storage, ROWS, [PERSON])
    table = migrate_internal_schema(Table.open(storage))
    stamp(table, 3)
    with pytest.raises(CommitConflict):
        table.cas_merge(arrow([version_row(99)], table.schema), key="object_id", write_id="old")
    assert ids(Table.open(storage)) == IDS


@pytest.mark.usefixtures("version_3")
def test_a_further_step_begins_where_the_last_one_ended(local: Storage, tmp_path: Path) -> None:
    """Cut short before, within or after each step, the next one who migrates ends it."""
    points: list[str] = []
    write_old(local, ROWS, [PERSON])
    with handling(here(points.append)):
        migrate_internal_schema(Table.open(local))
    for number in range(len(points)):
        location = Storage.resolve(tmp_path / f"repo-{number}")
        cut_at(location, number)
        table = migrate_internal_schema(Table.open(location))
        assert (check_internal_schema(table), ids(table)) == (3, IDS), points[number]


def cut_at(location: Storage, number: int) -> None:
    """Migrate an old catalog until a point is passed for the n-th time of all."""
    write_old(location, ROWS, [PERSON])
    passed: list[str] = []

    def cut(name: str) -> None:
        passed.append(name)
        if len(passed) == number + 1:
            raise Cut

    with handling(here(cut)), pytest.raises(Cut):
        migrate_internal_schema(Table.open(location))
    assert set(ids(Table.open(location))) == set(IDS)
