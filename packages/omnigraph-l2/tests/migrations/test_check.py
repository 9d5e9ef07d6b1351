"""Looking at the stamp: what may be read, what may not, and that nothing is touched."""

from __future__ import annotations

import pytest
from old_catalogs import (
    KEY,
    MANIFEST_SCHEMA,
    NEWEST,
    PERSON,
    ROWS,
    STAMP,
    VERSION_1,
    arrow,
    check_internal_schema,
    migrate_internal_schema,
    migrations,
    plain,
    stamp_schema,
    tree,
    write_old,
)

from omnigraph_l1 import Storage, Table
from omnigraph_l2.errors import CorruptRepository, OmniGraphError, UpgradeRequired

BRANCHES = [None, "what-if.01hx"]
NOT_WHOLE = ["", "x", "0", "-1", "+2", "1.5", "2.0", "02", " 2", "2 ", "2\n", "٢", "1" * 30, "None"]


def opened(storage: Storage, branch: str | None, **stamps: str) -> Table:
    """Open an old catalog whose branch bears a stamp."""
    write_old(storage, ROWS)
    table = Table.open(storage)
    table = table if branch is None else table.fork(branch)
    if stamps:
        plain(table).update_schema_metadata({STAMP: stamps["stamp"]})
    return table.refresh()


def test_an_old_catalog_is_version_one(storage: Storage) -> None:
    """No stamp means 1, and so does the word itself."""
    write_old(storage, ROWS)
    table = Table.open(storage)
    assert check_internal_schema(table) == 1
    plain(table).update_schema_metadata({STAMP: "1"})
    assert check_internal_schema(table.refresh()) == 1


def test_a_new_catalog_is_of_the_newest_version(storage: Storage) -> None:
    """What ``init`` makes is stamped and annotated from the start, and migrates to itself."""
    table = Table.create(storage, stamp_schema(MANIFEST_SCHEMA))
    assert check_internal_schema(table) == NEWEST
    assert check_internal_schema(Table.open(storage)) == NEWEST
    assert migrate_internal_schema(table) is table
    assert stamp_schema(VERSION_1.with_metadata({b"a": b"b"})).metadata == {
        b"a": b"b",
        STAMP.encode(): str(NEWEST).encode(),
    }


def test_checking_touches_nothing_and_asks_nothing(local: Storage) -> None:
    """Not a file is written, changed or even read: the handle knows."""
    table = opened(local, None)
    before = tree(local.location.local_path)
    (local.location.local_path / "_versions").rename(local.location.local_path / "away")
    assert check_internal_schema(table) == 1
    (local.location.local_path / "away").rename(local.location.local_path / "_versions")
    assert check_internal_schema(Table.open(local)) == 1
    assert tree(local.location.local_path) == before


@pytest.mark.parametrize("text", NOT_WHOLE)
def test_a_stamp_that_is_no_whole_number_is_damage(local: Storage, text: str) -> None:
    """It is never taken for a missing one; the error shows it, and nothing is touched."""
    table = opened(local, None, stamp=text)
    before = tree(local.location.local_path)
    for look in (check_internal_schema, migrate_internal_schema):
        with pytest.raises(CorruptRepository) as caught:
            look(table)
        assert STAMP in caught.value.item
        assert repr(text) in caught.value.detail
        assert caught.value.location == str(local.location).removesuffix("/__manifest")
    assert tree(local.location.local_path) == before


@pytest.mark.parametrize(
    "annotation", [{}, {KEY + ":position": "0"}, {KEY: "false"}, {"key": "true"}]
)
def test_version_two_without_the_annotation_is_damage(
    storage: Storage, annotation: dict[str, str]
) -> None:
    """The stamp promises that a key can be inserted once; without the annotation it cannot."""
    field = VERSION_1.field("object_id").with_metadata(annotation)
    schema = VERSION_1.set(0, field).with_metadata({STAMP: "2"})
    table = Table.create(storage, schema).append(arrow([PERSON], schema)).table
    for look in (check_internal_schema, migrate_internal_schema):
        with pytest.raises(CorruptRepository, match="without which two publishers"):
            look(table)
    assert table.refresh() is table


@pytest.mark.parametrize("branch", BRANCHES)
@pytest.mark.parametrize("text", [str(NEWEST + 1), str(NEWEST + 2), "4294967296"])
def test_a_newer_catalog_is_refused_and_left_alone(
    local: Storage, branch: str | None, text: str
) -> None:
    """For reading and for writing alike, on main and on a branch; both versions are named."""
    table = opened(local, branch, stamp=text)
    before = tree(local.location.local_path)
    for look in (check_internal_schema, migrate_internal_schema):
        with pytest.raises(UpgradeRequired) as caught:
            look(table)
        assert (caught.value.found, caught.value.supported) == (int(text), NEWEST)
        assert text in str(caught.value)
        assert f"up to {NEWEST}" in str(caught.value)
    assert tree(local.location.local_path) == before


def test_a_newer_catalog_is_seen_by_who_migrates_from_an_old_handle(local: Storage) -> None:
    """The handle shows version 1; by now the head is of a version that is not known."""
    table = opened(local, None)
    plain(table).update_schema_metadata({STAMP: str(NEWEST + 5)})
    before = tree(local.location.local_path)
    with pytest.raises(UpgradeRequired, match=f"version {NEWEST + 5}"):
        migrate_internal_schema(table)
    assert tree(local.location.local_path) == before


def test_the_stamp_is_that_of_one_branch(local: Storage) -> None:
    """A newer branch does not make main newer, and the other way round; the error names it."""
    branch = opened(local, "what-if.01hx", stamp="x")
    assert check_internal_schema(Table.open(local)) == 1
    with pytest.raises(CorruptRepository, match=r"on branch 'what-if\.01hx'"):
        check_internal_schema(branch)
    plain(Table.open(local)).update_schema_metadata({STAMP: str(NEWEST + 1)})
    with pytest.raises(UpgradeRequired):
        check_internal_schema(Table.open(local))


def test_errors_are_of_this_package(local: Storage) -> None:
    """What the layer below raises is told in our words: here, of a branch that is gone."""
    branch = opened(local, "what-if.01hx")
    Table.open(local).delete_branch("what-if.01hx")
    with pytest.raises(OmniGraphError):
        migrate_internal_schema(branch)


def test_the_constant_and_the_table_of_steps_agree() -> None:
    """From each version before the newest there is one step."""
    assert set(migrations.STEPS) == set(range(1, migrations.INTERNAL_MANIFEST_SCHEMA_VERSION))
