"""What a caller gives by hand and cannot mean: a typed error that says what may be given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from people import ids, rows

from omnigraph_l1 import Table
from omnigraph_l1.errors import CommitConflict, InvalidRequest, UnknownVersion

TAKES_A_VERSION: dict[str, Callable[[Table, Any], object]] = {
    "open": lambda table, version: Table.open(table.location, version=version),
    "at": lambda table, version: table.at(version),
    "restore": lambda table, version: table.restore(version),
    "remove_versions": lambda table, version: table.remove_versions([2, version]),
    "delta": lambda table, version: table.delta(version),
}


@pytest.fixture
def three(local: Table) -> Table:
    """Version 3, of one row in each of two fragments."""
    return local.append(rows("a")).table.append(rows("b")).table


@pytest.mark.parametrize("call", TAKES_A_VERSION)
@pytest.mark.parametrize("given", ["1", 1.5, True, None, b"1"], ids=repr)
def test_a_version_is_a_whole_number(three: Table, call: str, given: object) -> None:
    """Anything else is refused by name, wherever a version is taken, and nothing is changed."""
    if call == "open" and given is None:
        return
    with pytest.raises(InvalidRequest, match=type(given).__name__):
        TAKES_A_VERSION[call](three, given)
    assert three.refresh() is three
    assert three.versions() == [1, 2, 3]


@pytest.mark.parametrize("call", TAKES_A_VERSION)
@pytest.mark.parametrize("given", [-1, 0, 2**63, 2**64, 2**70])
def test_numbers_that_no_version_can_have(three: Table, call: str, given: int) -> None:
    """They were never written, and Lance is not even asked."""
    with pytest.raises(UnknownVersion) as caught:
        TAKES_A_VERSION[call](three, given)
    assert caught.value.version == given
    assert three.versions() == [1, 2, 3]


def test_numbers_of_other_kinds_are_numbers(three: Table) -> None:
    """What counts as a whole number in Python counts here: those of numpy, for one."""

    class Two:
        def __index__(self) -> int:
            return 2

    two: Any = Two()
    assert ids(three.at(two).read()) == ["a"]
    assert ids(three.delta(two).inserted().read_all()) == ["b"]
    assert ids(three.restore(two).table.read()) == ["a"]


def test_removing_what_is_gone_is_no_error(three: Table) -> None:
    """A version that could be, and is not there, counts as removed by somebody else."""
    assert three.remove_versions([2]).versions == 1
    assert three.remove_versions([2, 99]).versions == 0


def test_the_kind_of_an_index(three: Table) -> None:
    """A wrong word is refused, with the words that are right."""
    with pytest.raises(
        InvalidRequest, match=r"Invalid index kind 'btree': expected one of 'BTREE', 'BITMAP'"
    ):
        three.create_index("id", "btree")
    assert three.create_index("id", "BITMAP").changed


NO_IDS = ["", "short", "x" * 129, "with/slash", "with blank", "ümläut-id", "line\nbreaks", 5, b"x"]


@pytest.mark.parametrize("given", NO_IDS, ids=lambda given: repr(given)[:20])
def test_ids_of_transactions_that_cannot_be_unique_or_stored(three: Table, given: Any) -> None:
    """Lance makes a file name of the id; an empty one would stand for "make one"."""
    with pytest.raises(InvalidRequest, match="id of a transaction"):
        three.commit(three.stage_append(rows("c")), transaction_id=given)
    assert three.refresh() is three


@pytest.mark.parametrize("given", ["my-own-id", "x" * 128, "01ARZ3NDEKTSV4RRFFQ69G5FAV"])
def test_ids_of_transactions_that_are_kept(three: Table, given: str) -> None:
    """The record of the commit bears just that id."""
    commit = three.commit(three.stage_append(rows("c")), transaction_id=given)
    assert commit.transaction_id == given
    assert commit.table.dataset.read_transaction(commit.version).uuid == given


CHANGES: dict[str, Callable[[Table], Any]] = {
    "upsert": lambda table: table.stage_upsert(rows("a", age=7), "id"),
    "delete": lambda table: table.stage_delete("id = 'a'"),
    "another delete": lambda table: table.stage_delete("id IN ('a', 'x')"),
}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("upsert", "delete"),
        ("delete", "upsert"),
        ("upsert", "upsert"),
        ("delete", "another delete"),
    ],
)
def test_an_id_that_is_used_again_acknowledges_nothing(
    three: Table, first: str, second: str
) -> None:
    """The second change met the first and was refused: the id they share does not make it done."""
    ours, theirs = CHANGES[second](three), CHANGES[first](three)
    landed = three.commit(theirs, transaction_id="used-twice")
    with pytest.raises(InvalidRequest, match="used-twice"):
        three.commit(ours, transaction_id="used-twice")
    assert three.refresh().version == landed.version


def test_a_change_that_landed_is_found_by_its_id(three: Table) -> None:
    """The very same change, committed once more where it had landed, is acknowledged once."""
    staged = three.stage_upsert(rows("a", age=7), "id")
    first = three.commit(staged, transaction_id="once-only")
    assert three.commit(staged, transaction_id="once-only").version == first.version
    with pytest.raises(CommitConflict):
        three.commit(staged, transaction_id="another-id")
