"""What the dead left, and what goes: of creations, of branches, of versions that were removed."""

from __future__ import annotations

import pytest
from undecided import SCHEMA, append_one, create_one, delete_side, ids, remove_first, rows

from omnigraph_l1 import Storage, Table, migrate_version_names
from omnigraph_l1._versions import MARK
from omnigraph_l1._versions.deciding import Lineage
from omnigraph_l1._versions.namespaces import lineage
from omnigraph_l1.errors import BranchExists, DatasetExists, InvalidRequest
from omnigraph_testing import AtPoint, Crash, FaultyS3


def _records(storage: Storage, branch: str | None = None) -> list[int]:
    found = lineage(storage, branch)
    assert found is not None
    return sorted(found.versions())


def test_a_creation_that_was_cut_short_is_finished(storage: Storage, crash: Crash) -> None:
    """It says from then on what decides its versions, and is written to."""
    crash.run(create_one, storage, kill=AtPoint("versions.unmarked"))
    with pytest.raises(DatasetExists):
        Table.create(storage, SCHEMA)
    table = Table.open(storage)
    assert MARK in table.config
    assert ids(table.append(rows("a")).table) == ["a"]


def test_records_go_with_their_branch(base: Table, ours: Storage) -> None:
    """The name can be used again, as without a version store."""
    for name in "xy":
        branch = base.fork("side", fresh=False).append(rows(name)).table
        assert ids(branch) == ["a", "b", name]
        assert _records(ours, "side") == [base.version, branch.version]
        base.delete_branch("side")
        assert _records(ours, "side") == []
    assert ids(base) == ["a", "b"]


def test_what_a_killed_deletion_left_is_told(base: Table, ours: Storage, crash: Crash) -> None:
    """The name is not free: no outcome is unknown."""
    base.fork("side", fresh=False)
    crash.run(delete_side, ours, kill=AtPoint("versions.branch_removed"))
    assert not base.has_branch("side")
    with pytest.raises(BranchExists) as raised:
        base.fork("side", fresh=False)
    assert not raised.value.listed


def test_names_are_used_once_with_dynamodb(dynamodb: Storage) -> None:
    """There Lance leaves its records: the name is told to be taken."""
    base = Table.create(dynamodb, SCHEMA)
    base.fork("side", fresh=False)
    base.delete_branch("side")
    with pytest.raises(BranchExists) as raised:
        base.fork("side", fresh=False)
    assert not raised.value.listed


def test_records_go_with_their_versions(base: Table, ours: Storage, crash: Crash) -> None:
    """Also where somebody died between the two."""
    table = base.append(rows("c")).table.append(rows("d")).table
    assert _records(ours) == list(range(1, table.version + 1))
    crash.run(remove_first, ours, 2, kill=AtPoint("versions.version_removed"))
    assert _records(ours) == list(range(1, table.version + 1))
    table.remove_versions([base.version])
    assert _records(ours) == [table.version - 1, table.version]
    assert ids(Table.open(ours)) == ["a", "b", "c", "d"]


def test_what_was_removed_meanwhile_is_no_damage(
    base: Table, ours: Storage, crash: Crash, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader read the record, slept while the version was finished and removed, and goes on."""
    crash.run(append_one, ours, "k", kill=AtPoint("versions.reserved"))
    decided = lineage(ours, None)
    assert decided is not None
    version = base.version + 1
    stale = decided._read(version)
    table = Table.open(ours).append(rows("z")).table
    table.remove_versions([version])
    answers = [stale]
    read = Lineage._read
    monkeypatch.setattr(
        Lineage, "_read", lambda self, of: answers.pop() if answers else read(self, of)
    )
    assert decided.at(version) is None
    assert ids(Table.open(ours)) == ["a", "b", "k", "z"]


def test_version_names_are_not_changed(base: Table, ours: Storage, careless: FaultyS3) -> None:
    """The version store remembers them. What is there has new names anyway."""
    with pytest.raises(InvalidRequest, match="decides its versions"):
        migrate_version_names(ours)
    plain = Storage.resolve(careless.uri("a table"), careless.storage_options)
    assert migrate_version_names(plain) == 0
    assert ids(base.refresh()) == ["a", "b"]
