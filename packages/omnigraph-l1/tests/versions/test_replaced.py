"""Version stores that are not what they were: empty, older, or another in the same place."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from undecided import SCHEMA, ids, rows

from omnigraph_l1 import JsonRefs, Storage, Table
from omnigraph_l1.errors import (
    InvalidStorageOptions,
    L1Error,
    OutcomeUnknown,
    StorageError,
    WrongVersionStore,
)
from omnigraph_testing import FaultyS3


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the version store is."""
    return tmp_path / "versions.db"


def _at(careless: FaultyS3, file: Path, name: str = "t") -> Storage:
    options = {**careless.storage_options, "version_store": f"sqlite://{file}"}
    return Storage.resolve(careless.uri(name), options)


def test_another_in_its_place_decides_nothing(careless: FaultyS3, file: Path) -> None:
    """Also for a writer that has known the first one for long: nothing begins again in silence."""
    storage = _at(careless, file)
    table = Table.create(storage, SCHEMA).append(rows("a")).table
    branch = table.fork("side.1", fresh=True)
    file.unlink()
    Table.create(_at(careless, file, "other"), SCHEMA)
    with pytest.raises(OutcomeUnknown):
        table.append(rows("b"))
    for write in (table, branch):
        with pytest.raises(WrongVersionStore):
            write.append(rows("c"))
    assert ids(Table.open(storage)) == ["a"]
    assert Table.open(storage).version == table.version


@pytest.mark.parametrize("place", ["empty.db", "other.db"])
def test_who_has_another_reads(careless: FaultyS3, file: Path, place: str) -> None:
    """All that was finished, at each version and on each branch; and is told before he writes."""
    table = Table.create(_at(careless, file), SCHEMA).append(rows("a")).table
    last = table.append(rows("b")).table
    table.fork("side.1", fresh=True).append(rows("c"))
    wrong = file.with_name(place)
    if place == "other.db":
        Table.create(_at(careless, wrong, "other"), SCHEMA)
    found = Table.open(_at(careless, wrong))
    assert found.version == last.version
    assert ids(found.at(table.version)) == ["a"]
    assert ids(Table.open(_at(careless, wrong), branch="side.1")) == ["a", "c"]
    with pytest.raises((WrongVersionStore, StorageError)):
        found.append(rows("d"))


def test_an_older_copy_of_it_loses_nothing(careless: FaultyS3, file: Path) -> None:
    """What was acknowledged since stays, and the next commit comes after it."""
    storage = _at(careless, file)
    table = Table.create(storage, SCHEMA).append(rows("a")).table
    older = file.with_name("older.db")
    shutil.copy(file, older)
    table.append(rows("b")).table.append(rows("c"))
    older.replace(file)
    assert ids(Table.open(storage)) == ["a", "b", "c"]
    Table.open(storage).append(rows("late"))
    assert ids(Table.open(storage)) == ["a", "b", "c", "late"]


def test_a_writer_that_outlives_an_older_copy_takes_nothing_away(
    careless: FaultyS3, file: Path
) -> None:
    """It stands on a version before the copy's last, and wants one that others have had since."""
    storage = _at(careless, file)
    table = Table.create(storage, SCHEMA).append(rows("a")).table
    older = file.with_name("older.db")
    shutil.copy(file, older)
    last = table.append(rows("b")).table.append(rows("c")).table
    older.replace(file)
    done = table.append(rows("late"))
    assert done.version == last.version + 1
    assert ids(Table.open(storage)) == ["a", "b", "c", "late"]
    assert ids(Table.open(storage).at(table.version + 1)) == ["a", "b"]


def test_who_may_not_mend_an_older_copy_is_told(careless: FaultyS3, file: Path) -> None:
    """Rows that were acknowledged are not left out in silence."""
    storage = _at(careless, file)
    table = Table.create(storage, SCHEMA).append(rows("a")).table
    older = file.with_name("older.db")
    shutil.copy(file, older)
    table.append(rows("b"))
    older.replace(file)
    with file.open("r+b") as raw:
        raw.seek(18)
        raw.write(b"\x03")  # a version of the format that SQLite reads, and does not write
    with pytest.raises(StorageError, match=r"older copy.*readonly"):
        Table.open(storage)


def test_an_empty_one_makes_no_dataset_anew(careless: FaultyS3, file: Path) -> None:
    """What is there stays as it is."""
    table = Table.create(_at(careless, file), SCHEMA).append(rows("a")).table
    with pytest.raises(L1Error):
        Table.create(_at(careless, file.with_name("empty.db")), SCHEMA)
    assert ids(Table.open(_at(careless, file)).at(table.version)) == ["a"]
    assert Table.open(_at(careless, file)).at(1).count() == 0
    assert ids(Table.open(_at(careless, file)).append(rows("b")).table) == ["a", "b"]


def test_a_file_that_is_being_made_holds_nothing(careless: FaultyS3, file: Path) -> None:
    """It is empty for a moment."""
    file.touch()
    assert JsonRefs.open(_at(careless, file), "_refs/x").get("a") is None


def test_a_file_that_cannot_be_looked_for_is_told(careless: FaultyS3, tmp_path: Path) -> None:
    """By an error of ours."""
    refs = JsonRefs.open(_at(careless, tmp_path / ("n" * 300)), "_refs/x")
    with pytest.raises(StorageError, match="too long"):
        refs.get("a")


@pytest.mark.parametrize("text", ["sqlite://user:hidden@host/v.db", "sqlite:///hidden\0"])
def test_what_was_given_is_not_repeated(careless: FaultyS3, text: str) -> None:
    """It may be a secret."""
    options = {**careless.storage_options, "version_store": text}
    with pytest.raises(InvalidStorageOptions) as raised:
        Storage.resolve(careless.uri("t"), options)
    assert "hidden" not in str(raised.value)
