"""Writers that die between the steps: the next one finishes what was decided."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from undecided import SCHEMA, append_one, ids, rows

from omnigraph_l1 import Resolution, Storage, Table, failpoints
from omnigraph_l1.errors import (
    CommitConflict,
    CorruptDataset,
    L1Error,
    OutcomeUnknown,
    StoreUnavailable,
)
from omnigraph_testing import (
    Answer,
    AtPoint,
    Crash,
    CutReply,
    FaultyS3,
    IgnoreConditions,
    Rule,
    start_faulty_s3,
)

POINTS = ("versions.reserved", "versions.copied", "versions.final")
OTHERS = {"versions.unmarked", "versions.version_removed", "versions.branch_removed"}
"""Those are tried in ``test_leftovers``."""


def _points() -> set[str]:
    return {name for name in failpoints.declared() if name.startswith("versions.")}


def test_every_step_is_tried() -> None:
    """Between any two changes that others can see there is a point, and each is below."""
    assert _points() == {*POINTS, *OTHERS}


@pytest.mark.parametrize("point", POINTS)
def test_the_next_writer_goes_on(base: Table, ours: Storage, crash: Crash, point: str) -> None:
    """What was reserved is a version, for the reader and for the writer that come next."""
    crash.run(append_one, ours, "of the dead", kill=AtPoint(point))
    assert ids(Table.open(ours)) == ["a", "b", "of the dead"]
    late = base.append(rows("late"))
    assert late.version == base.version + 2
    assert ids(Table.open(ours)) == ["a", "b", "late", "of the dead"]


def test_a_writer_goes_on_first(base: Table, ours: Storage, crash: Crash) -> None:
    """Also where nobody has looked since, and no file has its name yet: the version is taken."""
    crash.run(append_one, ours, "k", kill=AtPoint("versions.reserved"))
    with pytest.raises(CommitConflict) as raised:
        base.append(rows("late"))
    assert raised.value.resolution is Resolution.RETRYABLE
    assert ids(base.refresh().append(rows("late")).table) == ["a", "b", "k", "late"]


@pytest.mark.parametrize("point", POINTS)
def test_who_knows_nothing_of_it_sees_one_version_less(
    base: Table, ours: Storage, plain: Storage, crash: Crash, point: str
) -> None:
    """At most: the versions before are whole without the store."""
    crash.run(append_one, ours, "of the dead", kill=AtPoint(point))
    found = Table.open(plain)
    assert found.version == base.version + (point != "versions.reserved")
    assert ids(found.at(base.version)) == ["a", "b"]


def test_a_staged_file_that_is_gone_is_told(
    base: Table, ours: Storage, crash: Crash, careless: FaultyS3
) -> None:
    """Nothing is guessed: the version was decided, and cannot be read."""
    crash.run(append_one, ours, "lost", kill=AtPoint("versions.reserved"))
    store = careless.obstore("a table/_versions")
    for page in store.list():
        for entry in page:
            if ".manifest-" in entry["path"] and _is_newest(entry["path"], base.version + 1):
                store.delete(entry["path"])
    with pytest.raises(L1Error) as raised:
        Table.open(ours)
    assert isinstance(raised.value, CorruptDataset), raised.value
    assert ids(base.at(base.version)) == ["a", "b"]


def _is_newest(path: str, version: int) -> bool:
    return path.startswith(f"{2**64 - 1 - version}")


def test_staged_files_stay_while_their_version_does(base: Table, careless: FaultyS3) -> None:
    """Somebody may have read of one a moment ago; they go with their version."""
    store = careless.obstore("a table/_versions")

    def staged() -> int:
        return sum(".manifest-" in entry["path"] for page in store.list() for entry in page)

    table = base
    for name in "cde":
        table = table.append(rows(name)).table
    assert staged() == table.version
    table.remove_versions(range(1, table.version))
    assert staged() == 1


def test_a_lost_reply_of_the_store_is_known_for_ones_own(
    careless: FaultyS3, s3_store: object
) -> None:
    """The record was written, and its writer was not told: the commit is there once."""
    with start_faulty_s3(s3_store) as decider:  # type: ignore[arg-type]
        options = {
            **careless.storage_options,
            "version_store": decider.uri("decides"),
            "version_store.aws_endpoint": decider.endpoint,
        }
        storage = Storage.resolve(careless.uri("a table"), options)
        table = Table.create(storage, SCHEMA)
        decider.inject(Rule(CutReply(), "PUT", key="*.version", times=1))
        commit = table.append(rows("once"))
        assert commit.follows_base
        assert ids(Table.open(storage)) == ["once"]
        with decider.down(), pytest.raises(StoreUnavailable):
            Table.open(storage)


def test_damage_of_a_version_store_is_told(careless: FaultyS3, tmp_path: Path) -> None:
    """Of one record as of the dataset that it is about; of the whole as of a store that is away."""
    file = tmp_path / "versions.db"
    options = {**careless.storage_options, "version_store": f"sqlite://{file}"}
    storage = Storage.resolve(careless.uri("a table"), options)
    table = Table.create(storage, SCHEMA)
    with closing(sqlite3.connect(file)) as connection, connection:
        name = f"{2**64 - 1 - table.version}.version"
        change = "UPDATE omnigraph_documents SET data = x'00' WHERE name = ?"
        assert connection.execute(change, (name,)).rowcount == 1
    with pytest.raises(CorruptDataset, match="record of version"):
        Table.open(storage)
    file.unlink()
    file.mkdir()
    with pytest.raises(StoreUnavailable, match="unable to open"):
        Table.open(storage)


def test_what_is_reserved_is_never_told_as_refused(
    base: Table, ours: Storage, careless: FaultyS3
) -> None:
    """Where its file cannot be put in place: the outcome is unknown, and comes out later."""
    careless.inject(Rule(Answer(403), "COPY", key="*/_versions/*"))
    with pytest.raises(OutcomeUnknown):
        base.merge_exclusively(rows("k"), key="id", write_id="w")
    careless.clear()
    careless.inject(Rule(IgnoreConditions()))
    assert ids(Table.open(ours)) == ["a", "b", "k"]
