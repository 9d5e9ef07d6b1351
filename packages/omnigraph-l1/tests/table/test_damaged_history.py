"""A damaged version below the head: what does not need it goes on, the rest names it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from people import SCHEMA, TEARS, ids, rows, tear, version_file, version_name

from omnigraph_l1 import Resolution, Storage, Table
from omnigraph_l1.errors import CommitConflict, CorruptDataset, InvalidRequest
from omnigraph_testing import S3Store

DAMAGED = 3
RECORD_ONLY = "garbage at the beginning"
"""There stands the record of the commit; Lance does not look at it when it removes versions."""


@pytest.fixture(params=[how for how in TEARS if how != RECORD_ONLY])
def below(local: Table, request: pytest.FixtureRequest) -> Table:
    """A handle on version 2 of five, of which the third is damaged."""
    handles = [local]
    for name in "abcd":
        handles.append(handles[-1].append(rows(name)).table)
    tear(version_file(local, DAMAGED), request.param)
    return handles[1]


def test_the_others_are_read_listed_and_compared(below: Table) -> None:
    """Versions, deltas and rows of all others are what they were; who asks for it is told."""
    head = Table.open(below.location)
    assert head.versions() == [1, 2, 3, 4, 5]
    assert ids(head.read()) == ["a", "b", "c", "d"]
    assert ids(head.at(4).read()) == ["a", "b", "c"]
    assert ids(head.delta(2).inserted().read_all()) == ["b", "c", "d"]
    assert ids(head.delta(DAMAGED).inserted().read_all()) == ["c", "d"]
    for attempt in (
        lambda: head.at(DAMAGED),
        lambda: Table.open(below.location, version=DAMAGED),
        lambda: head.restore(DAMAGED),
    ):
        with pytest.raises(CorruptDataset, match="version 3 is damaged"):
            attempt()
    assert head.refresh().version == head.version


def test_commits_above_it_need_nothing_of_it(below: Table) -> None:
    """A restore, too, whatever lies between its version and the head."""
    commit = below.at(4).append(rows("x"))
    assert ids(commit.table.read()) == ["a", "b", "c", "d", "x"]
    assert ids(commit.table.restore(2).table.read()) == ["a"]


WRITES: dict[str, Callable[[Table], object]] = {
    "append": lambda table: table.append(rows("x")),
    "upsert": lambda table: table.upsert(rows("a", age=5), "id"),
    "delete": lambda table: table.delete("id = 'a'"),
    "merge": lambda table: table.cas_merge(rows("x"), key="id", write_id="w"),
    "index": lambda table: table.create_index("id"),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_commit_from_below_it_is_refused_as_a_conflict_that_names_it(
    below: Table, write: str
) -> None:
    """What it changed is not known, so nobody can say that the two agree; the head can be used."""
    with pytest.raises(CommitConflict, match="version 3 is damaged") as caught:
        WRITES[write](below)
    assert caught.value.resolution is Resolution.RETRYABLE
    assert caught.value.base_version == below.version
    head = below.refresh()
    assert head.version == 5
    WRITES[write](head)
    assert head.refresh().version == 6


@pytest.mark.parametrize("write", WRITES)
def test_a_version_whose_record_alone_is_damaged(local: Table, write: str) -> None:
    """Lance panics at it, in the very task or in another; it is told as the others are."""
    below = local.append(rows("a")).table
    below.append(rows("b")).table.append(rows("c"))
    tear(version_file(local, DAMAGED), RECORD_ONLY)
    with pytest.raises(CorruptDataset, match="version 3 is damaged"):
        Table.open(local.location, version=DAMAGED)
    with pytest.raises(CommitConflict, match="version 3 is damaged"):
        WRITES[write](below)
    WRITES[write](below.refresh())


def test_compaction_from_below_it(local: Table) -> None:
    """The same for the one commit that Lance makes in two steps."""
    handle = local.append(rows("a")).table.append(rows("b")).table
    handle.append(rows("c")).table.append(rows("d"))
    tear(version_file(local, 4), "half")
    with pytest.raises(CommitConflict, match="version 4 is damaged"):
        handle.compact()
    assert handle.refresh().compact().follows_base


def test_an_append_that_was_staged_below_it_is_committed_above_it(below: Table) -> None:
    """Its rows need not be written again."""
    staged = below.stage_append(rows("x"))
    with pytest.raises(CommitConflict):
        below.commit(staged)
    assert "x" in ids(below.refresh().commit(staged).table.read())


def test_versions_can_be_removed_beside_it_and_lose_no_file(below: Table) -> None:
    """What the damaged one needs is not known, so the files stay: a copy can mend it."""
    head = below.refresh()
    data = sorted((head.location.local_path / "data").iterdir())
    removed = head.remove_versions([1, 2, 99])
    assert (removed.versions, removed.data_files) == (2, 0)
    assert removed.bytes > 0
    assert head.versions() == [3, 4, 5]
    assert sorted((head.location.local_path / "data").iterdir()) == data
    assert ids(Table.open(head.location).read()) == ["a", "b", "c", "d"]


def test_removing_it_is_the_cure(below: Table) -> None:
    """Afterwards removing takes the files too, and commits from below go through."""
    head = below.refresh()
    assert head.remove_versions([DAMAGED]).versions == 1
    assert ids(below.append(rows("x")).table.read()) == ["a", "b", "c", "d", "x"]
    compacted = below.refresh().compact().table
    removed = compacted.remove_versions(compacted.versions()[:-1])
    assert compacted.versions() == [compacted.version]
    assert removed.data_files == 5


def test_what_is_held_is_not_removed_beside_it_either(below: Table) -> None:
    """The head, the version that is open, the start of a branch; a tag is told."""
    head = below.refresh()
    below.at(1).fork("side.1")
    assert below.remove_versions([1, 2, 5]).versions == 0
    head.at(4).tag("kept")
    with pytest.raises(InvalidRequest, match="tag"):
        head.remove_versions([2, 4])
    assert head.versions() == [1, 2, 3, 4, 5]


@pytest.mark.integration
def test_in_a_store_removing_says_which_is_damaged(s3_store: S3Store) -> None:
    """There no file is removed by hand."""
    storage = Storage.resolve(s3_store.uri("t"), s3_store.storage_options)
    table = Table.create(storage, SCHEMA)
    head = table.append(rows("a")).table.append(rows("b")).table
    storage.object_store().put(f"_versions/{version_name(2)}", b"")
    with pytest.raises(CorruptDataset, match=r"damaged: \[2\]"):
        head.remove_versions([1])
    assert head.versions() == [1, 2, 3]
