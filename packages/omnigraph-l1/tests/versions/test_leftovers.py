"""What the dead left, and what goes: of creations, of branches, of versions that were removed."""

from __future__ import annotations

import pytest
from undecided import SCHEMA, create_one, ids, rows

from omnigraph_l1 import Storage, Table, migrate_version_names
from omnigraph_l1.errors import BranchExists, DatasetExists, InvalidRequest
from omnigraph_testing import AtPoint, Crash

MARK = "omnigraph:version_store"


def test_a_creation_that_was_cut_short_is_finished(
    storage: Storage, omnigraph_crash: Crash
) -> None:
    """It says from then on what decides its versions, and is written to."""
    omnigraph_crash.run(create_one, storage, kill=AtPoint("versions.unmarked"))
    with pytest.raises(DatasetExists):
        Table.create(storage, SCHEMA)
    table = Table.open(storage)
    assert MARK in table.config
    assert ids(table.append(rows("a")).table) == ["a"]


def test_names_are_used_once(storage: Storage) -> None:
    """There Lance leaves its records: the name is told to be taken."""
    base = Table.create(storage, SCHEMA)
    base.fork("side", fresh=False)
    base.delete_branch("side")
    with pytest.raises(BranchExists) as raised:
        base.fork("side", fresh=False)
    assert not raised.value.listed


def test_version_names_are_not_changed(base: Table, storage: Storage, plain: Storage) -> None:
    """The version store remembers them. What is there has new names anyway."""
    with pytest.raises(InvalidRequest, match="decides its versions"):
        migrate_version_names(storage)
    assert migrate_version_names(plain) == 0
    assert ids(base.refresh()) == ["a", "b"]
