"""What lands over versions that the writer has not seen, although no retries are allowed."""

from __future__ import annotations

from datetime import timedelta

from lance import LanceDataset, LanceOperation

from ._support import (
    TOO_MANY_WRITERS,
    again,
    append,
    commit,
    commit_append,
    delete,
    failure,
    head,
    merge,
    overwrite,
    people,
    rows,
    staged,
    upsert,
    versions,
)


def test_an_append_is_rebased_although_retries_are_off(table: LanceDataset) -> None:
    """LanceDataset.commit(…, read_version=v, max_retries=0) still rebases an append over later
    versions. The version it returns is greater than v+1 then: compare.
    """
    old = again(table)
    append(table, "c")
    landed = commit_append(old, "d", base=1)
    assert (landed.version, rows(landed)) == (3, "a b c d")


def test_a_commit_without_a_rival_is_the_next_version(table: LanceDataset) -> None:
    """The new version is the base's plus one exactly when nobody came between, whether for an
    append, an upsert or a delete.
    """
    assert commit_append(table, "c").version == 2
    writer = again(table)
    upsert(writer, "a")
    assert writer.version == 3
    delete(writer, "b")
    assert writer.version == 4


def test_deletes_and_merges_are_rebased_too(table: LanceDataset) -> None:
    """Delete and merge-insert rebase at 0 retries too: the handle's version shows it."""
    deleter, upserter = again(table), again(table)
    append(table, "c")
    delete(deleter, "a")
    assert deleter.version == 3
    upsert(upserter, "n")
    assert upserter.version == 4
    assert head(table) == (4, "b c n")


def test_a_merge_with_different_keys_is_rebased(keyed: LanceDataset) -> None:
    """Two merge-inserts from one version with different keys: the second is rebased and lands,
    even with conflict_retries(0).
    """
    old = again(keyed)
    upsert(keyed, "k1")
    upsert(old, "k2")
    assert head(keyed) == (3, "a b k1 k2")


def test_a_merge_is_rebased_over_a_compaction(keyed: LanceDataset) -> None:
    """… and even over a compaction in between."""
    first = again(keyed)
    upsert(first, "c")
    old = again(keyed)
    first.optimize.compact_files()
    assert first.version == 4, "a compaction is two versions"
    upsert(old, "k2")
    assert head(keyed) == (5, "a b c k2")


def test_a_committed_merge_loses_its_key_filter(keyed: LanceDataset) -> None:
    """execute_uncommitted() followed by LanceDataset.commit(…, max_retries=0) loses the
    inserted-key filter: duplicates land. Only .execute() is safe for the manifest.
    """
    other = again(keyed)
    ours, _ = merge(keyed).execute_uncommitted(people("k", schema=keyed.schema))
    theirs, _ = merge(other).execute_uncommitted(people("k", schema=keyed.schema))
    LanceDataset.commit(keyed, ours, max_retries=0)
    landed = LanceDataset.commit(other, theirs, max_retries=0)
    assert (landed.version, rows(landed)) == (3, "a b k k")


def test_a_merge_is_refused_over_any_append_when_keys_count(keyed: LanceDataset) -> None:
    """On an annotated table a merge-insert over an append is refused whatever the keys are,
    while an append over a merge-insert lands, even with the same key.
    """
    merger, appender = again(keyed), again(keyed)
    append(keyed, "c")
    failure(lambda: upsert(merger, "k")).require("OSError", TOO_MANY_WRITERS)
    commit_append(appender, "c")
    assert head(keyed) == (3, "a b c c")


def test_one_transaction_committed_twice_lands_twice(table: LanceDataset) -> None:
    """A commit is not idempotent: the same transaction, same uuid, lands a second time."""
    operation = LanceOperation.Append(staged(table, "c"))
    commit(table, operation, base=1, uuid="0d61c63e-0000-4000-8000-000000000001")
    landed = commit(table, operation, base=1, uuid="0d61c63e-0000-4000-8000-000000000001")
    assert (landed.version, rows(landed)) == (3, "a b c c")


def test_a_key_lands_twice_when_its_version_was_cleaned_away(keyed: LanceDataset) -> None:
    """A publisher whose base version's successors were cleaned away commits without seeing them:
    the same key lands twice.
    """
    slow = again(keyed)
    for one in ("k", "m", "n"):
        upsert(again(keyed), one)
    again(keyed).cleanup_old_versions(older_than=timedelta(0))
    assert versions(keyed) == [4]
    upsert(slow, "k")
    assert head(keyed) == (5, "a b k k m n")


def test_an_overwrite_is_written_into_the_past(table: LanceDataset) -> None:
    """… or its version is written into the past and its rows are nowhere: an Overwrite tries its
    base plus one without looking at the head.
    """
    slow = again(table)
    for one in ("c", "d", "e"):
        append(again(table), one)
    again(table).cleanup_old_versions(versions=[2, 3])
    landed = overwrite(slow, "o")
    assert (landed.version, rows(landed)) == (2, "o"), "it is told that it succeeded"
    assert head(table) == (4, "a b c d e")
    assert versions(table) == [1, 2, 4]
