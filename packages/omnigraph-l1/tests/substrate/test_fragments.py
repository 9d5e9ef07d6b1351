"""Upsert and delete put together from many tasks' fragments, and the traps of it."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from lance import LanceDataset, LanceOperation
from lance.fragment import FragmentMetadata, RowIdSequence, write_fragments

from ._support import (
    again,
    append,
    commit,
    delete,
    failure,
    files,
    head,
    merge,
    people,
    rows,
    staged,
)

CREATED, UPDATED = "_row_created_at_version", "_row_last_updated_at_version"


def _update(
    dataset: LanceDataset, known: Iterable[str], new: Iterable[str]
) -> LanceOperation.Update:
    """Do what the tasks and the driver do, on the version that the handle has."""
    wanted = ", ".join(f"'{one}'" for one in known)
    located = dataset.to_table(
        columns=["id"], filter=f"id in ({wanted})", with_row_id=True, with_row_address=True
    )
    hits = sorted((row["_rowid"], row["_rowaddr"], row["id"]) for row in located.to_pylist())
    changed: list[FragmentMetadata] = []
    gone: list[int] = []
    for number in sorted({address >> 32 for _, address, _ in hits}):
        offsets = [address & 0xFFFFFFFF for _, address, _ in hits if address >> 32 == number]
        fragment = dataset.get_fragment(number)
        assert fragment is not None
        left = fragment.delete_rows(offsets)
        if left is None:
            gone.append(number)
        else:
            changed.append(left)
    (written,) = staged(dataset, *(name for _, _, name in hits), *new, x=9)
    written.row_id_meta = RowIdSequence([row_id for row_id, _, _ in hits]).to_inline_metadata()
    return LanceOperation.Update(
        removed_fragment_ids=gone,
        updated_fragments=changed,
        new_fragments=[written],
        update_mode="rewrite_rows",
    )


def _deletion(dataset: LanceDataset, fragment: int, *offsets: int) -> FragmentMetadata | None:
    found = dataset.get_fragment(fragment)
    assert found is not None
    return found.delete_rows(list(offsets))


def test_one_update_keeps_row_ids_and_versions(two: LanceDataset) -> None:
    """One LanceOperation.Update of deletions and new rows with row_id_meta keeps the ids: row ids,
    created and updated versions, delta and validate() are all right afterwards; rows past the
    sequence's length are inserts.
    """
    landed = commit(two, _update(two, ["c", "a"], ["n"]))
    assert landed.version == 3
    found = landed.to_table(columns=["id", "x", CREATED, UPDATED], with_row_id=True).to_pylist()
    assert {row["id"]: tuple(row.values())[1:] for row in found} == {
        "b": (1, 1, 1, 1),
        "a": (9, 1, 3, 0),
        "c": (9, 2, 3, 2),
        "n": (9, 3, 3, 3),
    }
    landed.validate()
    delta = landed.delta(compared_against=2)
    assert delta.get_inserted_rows().read_all()["id"].to_pylist() == ["n"]
    assert delta.get_updated_rows().read_all()["id"].to_pylist() == ["a", "c"]
    assert delta.get_deleted_row_ids().read_all().num_rows == 0


def test_an_index_follows_such_an_update(two: LanceDataset) -> None:
    """… and the BTREE finds the rows where they are now."""
    two.create_scalar_index("id", "BTREE")
    landed = commit(two, _update(two, ["a"], ["n"]))
    for name, value in (("a", 9), ("b", 1), ("n", 9)):
        assert landed.to_table(filter=f"id = '{name}'")["x"].to_pylist() == [value]


def test_deleting_all_rows_of_a_fragment_gives_none(two: LanceDataset) -> None:
    """delete_rows(offsets): None means the fragment is gone; no offsets change nothing; one that
    is out of range is a ValueError.
    """
    assert _deletion(two, 0, 0, 1) is None
    untouched = _deletion(two, 0)
    assert untouched is not None
    assert untouched.deletion_file is None
    failure(lambda: _deletion(two, 0, 9)).require(
        "ValueError", "Invalid user input: delete_rows offset 9 is out of range"
    )


def test_a_delete_commits_deletions_and_gone_fragments(two: LanceDataset) -> None:
    """LanceOperation.Delete(updated_fragments, deleted_fragment_ids, predicate) at read_version V
    with max_retries=0.
    """
    left = _deletion(two, 0, 1)
    assert left is not None
    landed = commit(two, LanceOperation.Delete([left], [1], "b or c"))
    assert (landed.version, rows(landed)) == (3, "a")


@pytest.mark.parametrize("kind", ["Delete", "Update"])
@pytest.mark.parametrize("rival", ["a", "b"])
def test_the_same_fragment_changed_since_is_a_conflict(
    kind: str, rival: str, two: LanceDataset
) -> None:
    """The same fragment changed by another since V: retryable conflict, of the same row or of
    another one.
    """
    old = again(two)
    left = _deletion(old, 0, 0)
    assert left is not None
    operation: LanceOperation.BaseOperation = (
        LanceOperation.Delete([left], [], "a")
        if kind == "Delete"
        else LanceOperation.Update(updated_fragments=[left], update_mode="rewrite_rows")
    )
    delete(two, rival)
    failed = failure(lambda: commit(old, operation, base=2))
    failed.require(
        "CommitConflictError",
        f"Retryable commit conflict for version 3: This {kind} transaction was preempted by "
        "concurrent transaction Delete at version 3.",
    )
    assert failed.retryable is True


def test_changes_of_other_fragments_are_rebased(two: LanceDataset) -> None:
    """… other fragments: rebased."""
    old = again(two)
    operation = _update(old, ["a"], ["n"])
    delete(two, "c")
    append(two, "d")
    landed = commit(old, operation, base=2)
    assert (landed.version, rows(landed)) == (5, "a b d n")


def test_concatenated_updates_duplicate_rows(table: LanceDataset) -> None:
    """Concatenating several execute_uncommitted results duplicates rows silently; validate()
    tells.
    """
    parts = [merge(table).execute_uncommitted(people(name, x=5))[0] for name in ("a", "b")]
    updates = [part.operation for part in parts]
    landed = commit(
        table,
        LanceOperation.Update(
            removed_fragment_ids=[],
            updated_fragments=[one for part in updates for one in part.updated_fragments],
            new_fragments=[one for part in updates for one in part.new_fragments],
            update_mode="rewrite_rows",
        ),
    )
    assert rows(landed) == "a b b"
    failure(landed.validate).require(
        "OSError", "Encountered corrupt file ", contains=["Row id 1 is live in both fragment"]
    )


def test_the_same_new_key_in_two_updates_lands_twice(two: LanceDataset) -> None:
    """The same *new* key in two Updates lands twice (compare the version with V+1)."""
    one, other = _update(two, ["a"], ["k"]), _update(two, ["c"], ["k"])
    assert commit(two, one, base=2).version == 3
    assert commit(two, other, base=2).version == 4
    assert head(two) == (4, "a b c k k")


def test_merge_refuses_row_ids(table: LanceDataset) -> None:
    """Merge refuses row ids: fragments that carry ids which others hold cannot be merged in."""
    (written,) = staged(table, "g")
    written.row_id_meta = RowIdSequence([0]).to_inline_metadata()
    old = [fragment.metadata for fragment in table.get_fragments()]
    operation = LanceOperation.Merge([*old, written], table.lance_schema)
    failure(lambda: commit(table, operation)).require(
        "OSError",
        "Invalid user input: Merge operation includes new fragment (id 0) with row id metadata.",
    )
    assert head(table) == (1, "a b")


def test_commit_batch_takes_appends_only(table: LanceDataset) -> None:
    """commit_batch takes appends only."""
    upsert, _ = merge(table).execute_uncommitted(people("a", x=5))
    failure(lambda: LanceDataset.commit_batch(table, [upsert])).require(
        "OSError", "Not supported: Only append transactions are supported in batch commits"
    )
    more = [write_fragments(people(name), table, return_transaction=True) for name in ("c", "d")]
    LanceDataset.commit_batch(table, more)
    assert head(table) == (2, "a b c d")


def test_delete_plus_append_loses_ids(two: LanceDataset) -> None:
    """Delete plus append loses ids: the row gets a new one."""
    delete(two, "a")
    append(two, "a")
    found = again(two).to_table(columns=["id"], filter="id = 'a'", with_row_id=True)
    assert found["_rowid"].to_pylist() == [3]


def test_an_abandoned_delete_leaves_only_files(two: LanceDataset) -> None:
    """delete_rows writes a deletion file at once, and changes nothing until it is committed."""
    before = files(two.uri)
    _deletion(two, 0, 0)
    (added,) = files(two.uri) - before
    assert added.startswith("_deletions/0-2-")
    assert head(two) == (2, "a b c")


@pytest.mark.parametrize(("step", "least", "most"), [(1, 0.0, 0.1), (3, 0.1, 1.0), (997, 3.9, 4.1)])
def test_inline_row_ids_cost_up_to_four_bytes_a_row(step: int, least: float, most: float) -> None:
    """Inline row ids cost 4 bytes a row in the manifest where they lie far apart, so compact after
    large upserts; next to nothing where they lie close together and in order.
    """
    ids = range(0, 10_000 * step, step)
    inline = RowIdSequence(list(ids)).to_inline_metadata().json()
    assert least <= len(json.loads(inline)["Inline"]) / len(ids) <= most
