"""A commit says whether it follows its base: no stranger's row is ever taken for one's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from people import ids, rows

from omnigraph_l1 import Resolution, Table
from omnigraph_l1.errors import CommitConflict, InvalidRequest, UnknownVersion


@pytest.fixture
def base(table: Table) -> Table:
    """Rows in two fragments."""
    return table.append(rows("a", "b")).table.append(rows("c", "d")).table


STRANGERS: dict[str, Callable[[Table], object]] = {
    "append": lambda t: t.append(rows("stranger")),
    "upsert": lambda t: t.upsert(rows("stranger"), "id"),
    "delete": lambda t: t.delete("id = 'd'"),
    "index": lambda t: t.create_index("id"),
}


@pytest.mark.parametrize("stranger", STRANGERS)
def test_an_append_over_a_stranger_is_not_proven(base: Table, stranger: str) -> None:
    """Lance puts it on top; the commit says that it does not follow its base."""
    staged = base.stage_append(rows("mine"))
    STRANGERS[stranger](base)
    commit = base.commit(staged)
    assert not commit.follows_base
    assert commit.version == base.version + 2


@pytest.mark.parametrize("stranger", ["append", "index"])
def test_upsert_and_delete_over_a_stranger_are_not_proven(base: Table, stranger: str) -> None:
    """The same for changes that name fragments."""
    upsert, delete = base.stage_upsert(rows("a"), "id"), base.stage_delete("id = 'c'")
    STRANGERS[stranger](base)
    assert not base.commit(upsert).follows_base
    assert not base.commit(delete).follows_base


def test_the_way_back_to_ones_own(base: Table) -> None:
    """PROTOCOL.md: restore the pinned version, commit the staged files again, and it is proven."""
    staged = base.stage_append(rows("mine"))
    base.append(rows("stranger"))
    assert not base.commit(staged).follows_base
    restored = base.restore(base.version)
    assert ids(restored.table.read()) == ["a", "b", "c", "d"]
    commit = restored.table.commit(staged)
    assert commit.follows_base
    assert ids(commit.table.read()) == ["a", "b", "c", "d", "mine"]


def test_changes_of_the_same_rows_conflict(base: Table) -> None:
    """Two changes of one row: the second is refused, and can be computed again."""
    upsert = base.stage_upsert(rows("a", age=7), "id")
    base.upsert(rows("a", age=8), "id")
    with pytest.raises(CommitConflict) as caught:
        base.commit(upsert)
    assert caught.value.resolution is Resolution.RETRYABLE
    assert caught.value.operation == "upsert"
    assert caught.value.base_version == base.version


def test_an_append_over_an_overwrite_is_incompatible(base: Table) -> None:
    """What it wanted to add to is gone."""
    staged = base.stage_append(rows("mine"))
    base.overwrite(rows("new"))
    with pytest.raises(CommitConflict) as caught:
        base.commit(staged)
    assert caught.value.resolution is Resolution.INCOMPATIBLE


def test_an_overwrite_over_a_stranger_is_refused(base: Table) -> None:
    """What somebody added meanwhile is not swept away by a writer who never saw it."""
    staged = base.stage_overwrite(rows("mine"))
    base.append(rows("stranger"))
    with pytest.raises(CommitConflict) as caught:
        base.commit(staged)
    assert caught.value.resolution is Resolution.RETRYABLE
    assert "stranger" in ids(base.refresh().read())


def test_an_overwrite_is_not_written_into_the_past(base: Table) -> None:
    """Where the next version was cleaned away, Lance would take its number, and nobody see it."""
    staged = base.stage_overwrite(rows("mine"))
    head = base.append(rows("x")).table.append(rows("y")).table
    head.remove_versions([base.version + 1])
    with pytest.raises(CommitConflict):
        base.commit(staged)
    assert base.refresh().version == head.version


def test_a_merge_of_one_key_lands_once(base: Table) -> None:
    """The compare-and-swap of the catalog: two inserts of one key, one winner."""
    base.cas_merge(rows("key", age=1), key="id", write_id="first")
    with pytest.raises(CommitConflict) as caught:
        base.cas_merge(rows("key", age=2), key="id", write_id="second")
    assert caught.value.resolution is Resolution.RETRYABLE
    assert base.refresh().read(filter="id = 'key'")["age"].to_pylist() == [1]


def test_a_merge_of_one_key_lands_once_though_the_key_is_indexed(base: Table) -> None:
    """With an index on the key, Lance left to itself lets both land."""
    base = base.create_index("id").table
    base.cas_merge(rows("key", age=1), key="id", write_id="first")
    with pytest.raises(CommitConflict):
        base.cas_merge(rows("key", age=2), key="id", write_id="second")
    assert base.refresh().count("id = 'key'") == 1


_REFUSED: dict[str, Callable[[Table], object]] = {
    "merge": lambda t: t.cas_merge(rows("new"), key="id", write_id="w"),
    "compact": lambda t: t.compact(),
    "annotate": lambda t: t.annotate(schema_metadata={"new": "1"}),
    "fence": lambda t: t.fence(),
}


@pytest.mark.parametrize("late", _REFUSED)
def test_nothing_lands_after_a_fence_that_was_prepared_before(base: Table, late: str) -> None:
    """Whatever key it merges, and also where others have committed since; the rows are the same."""
    before = base.read(columns=["id", "_row_created_at_version"])
    fenced = base.fence()
    assert fenced.follows_base
    assert fenced.table.read(columns=["id", "_row_created_at_version"]).equals(before)
    fenced.table.append(rows("other")).table.delete("id = 'a'").table.compact()
    with pytest.raises(CommitConflict):
        _REFUSED[late](base)
    assert ids(base.refresh().read()) == ["b", "c", "d", "other"]


@pytest.mark.parametrize("first", [*_REFUSED, "append", "upsert", "delete"])
def test_a_fence_is_not_put_on_top_of_others(base: Table, first: str) -> None:
    """It lists the fragments of its base, which those of a commit in between are not."""
    {**STRANGERS, **_REFUSED}[first](base)
    expected = ids(base.refresh().read())
    with pytest.raises(CommitConflict):
        base.fence()
    assert ids(base.refresh().fence().table.read()) == expected


def test_a_fence_of_an_empty_table(table: Table) -> None:
    """It has no fragments, and is a fence all the same."""
    assert table.fence().table.count() == 0
    with pytest.raises(CommitConflict):
        table.cas_merge(rows("new"), key="id", write_id="w")


def test_a_commit_is_not_tried_again_in_silence(base: Table) -> None:
    """A change that another preempted is refused at once, each time it is committed."""
    staged = base.stage_delete("id = 'a'")
    base.delete("id = 'b'")
    for _ in range(2):
        with pytest.raises(CommitConflict) as caught:
            base.commit(staged)
        assert caught.value.resolution is Resolution.RETRYABLE
    assert "a" in ids(base.refresh().read())


def test_merges_of_different_keys_both_land_unproven(base: Table) -> None:
    """Lance puts the second on top of the first: it says so."""
    base.cas_merge(rows("one"), key="id", write_id="first")
    second = base.cas_merge(rows("two"), key="id", write_id="second")
    assert not second.follows_base
    assert {"one", "two"} <= set(ids(second.table.read()))


def test_a_restore_is_exact_whatever_comes_between(base: Table) -> None:
    """The content is that of the version named, though others committed since."""
    base.append(rows("stranger"))
    restored = base.restore(2)
    assert ids(restored.table.read()) == ["a", "b"]
    assert restored.follows_base
    assert ids(base.read()) == ["a", "b", "c", "d"]
    with pytest.raises(UnknownVersion):
        base.restore(77)


def test_row_ids_are_not_used_again_after_a_restore(base: Table) -> None:
    """A row that a restore took away never lends its id to another."""
    stranger = base.append(rows("stranger")).table
    gone = stranger.read(filter="id = 'stranger'", with_row_id=True)["_rowid"].to_pylist()
    after = base.restore(base.version).table.append(rows("new")).table
    assert gone[0] not in after.read(with_row_id=True)["_rowid"].to_pylist()


def test_compaction_changes_no_row_and_proves_it(base: Table) -> None:
    """Fragments are merged; Lance's two commits for it do not spoil the proof."""
    base = base.delete("id = 'b'").table
    before = base.read(with_row_id=True).sort_by("id")
    commit = base.compact()
    assert commit.changed
    assert commit.follows_base
    assert len(commit.table.dataset.get_fragments()) == 1
    assert commit.table.read(with_row_id=True).sort_by("id").equals(before)
    assert not commit.table.compact().changed


def test_compaction_over_a_stranger_is_not_proven(base: Table) -> None:
    """What somebody appended meanwhile is seen, though the row count of the parts fits."""
    base.append(rows("stranger"))
    assert not base.compact().follows_base


def test_compaction_over_a_delete_is_refused_and_loses_nothing(base: Table) -> None:
    """The deletion stands, and compacting the newest version works."""
    base.delete("id = 'a'")
    with pytest.raises(CommitConflict):
        base.compact()
    done = base.refresh().compact()
    assert done.follows_base
    assert ids(done.table.read()) == ["b", "c", "d"]


def test_parts_of_an_index_are_joined_as_in_a_binary_counter(local: Table) -> None:
    """A part is read again only together with as many rows that are new to it, or more."""
    table = local.append(rows("a", "b", "c", "d")).table.create_index("id").table
    parts = []
    for number in range(8):
        table = table.append(rows(f"n{number}")).table
        table = table.extend_index("id_btree").table
        info = table.indexes()["id_btree"]
        parts.append(info.parts)
        assert info.unindexed_fragments == 0
    assert parts == [2, 2, 3, 1, 2, 2, 3, 2]
    assert ids(table.find("id", ["a", "n0", "n7"])) == ["a", "n0", "n7"]


def test_an_index_is_built_extended_and_dropped(base: Table) -> None:
    """It covers what it says, parts stay few, and answers are the same with and without it."""
    table = base.create_index("id").table
    assert table.indexes()["id_btree"].unindexed_fragments == 0
    for number in range(12):
        table = table.append(rows(f"n{number}")).table
        table = table.extend_index("id_btree").table
    info = table.indexes()["id_btree"]
    assert info.unindexed_fragments == 0
    assert info.parts <= 4
    assert not table.extend_index("id_btree").changed
    assert ids(table.find("id", ["a", "n0", "n11"])) == ["a", "n0", "n11"]
    assert "ScalarIndexQuery" in table.dataset.scanner(filter="id = 'n3'").explain_plan()
    table = table.compact().table
    assert ids(table.find("id", ["a", "n0", "n11"])) == ["a", "n0", "n11"]
    table = table.drop_index("id_btree").table
    assert table.indexes() == {}
    assert ids(table.find("id", ["n3"])) == ["n3"]


def test_a_fence_with_metadata(table: Table) -> None:
    """Whatever lands later was prepared by one who could see it; other metadata stays."""
    base = table.annotate(schema_metadata={"old": "Ångström", "stamp": "1"}).table
    before = {name.decode(): text.decode() for name, text in base.schema.metadata.items()}
    fenced = base.fence(schema_metadata={"stamp": "2", "new": '{"a": "\u2713"}'}).table
    seen = {name.decode(): text.decode() for name, text in fenced.schema.metadata.items()}
    assert seen == before | {"stamp": "2", "new": '{"a": "\u2713"}'}
    assert base.refresh().schema.equals(fenced.schema, check_metadata=True)
    with pytest.raises(CommitConflict):
        base.cas_merge(rows("late"), key="id", write_id="w")
    with pytest.raises(InvalidRequest, match="annotation is a text"):
        fenced.fence(schema_metadata={"stamp": 3})  # type: ignore[dict-item]
