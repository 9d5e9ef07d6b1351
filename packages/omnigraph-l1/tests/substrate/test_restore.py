"""What a restore does and what it stands in the way of."""

from __future__ import annotations

from lance import LanceDataset

from ._support import (
    again,
    append,
    commit_append,
    delete,
    failure,
    files,
    head,
    overwrite,
    restore,
    upsert,
)


def test_a_restore_is_a_new_version_of_metadata_only(two: LanceDataset) -> None:
    """restore() on a dataset opened at an older version commits that content as the newest
    version, metadata only.
    """
    before = files(two.uri)
    again(two, 1).restore()
    assert head(two) == (3, "a b")
    added = files(two.uri) - before
    assert sorted({name.split("/")[0] for name in added}) == ["_transactions", "_versions"]
    assert len(added) == 2


def test_an_append_based_before_a_restore_is_refused(two: LanceDataset) -> None:
    """An append that was based on a version before it is refused as incompatible."""
    old = again(two)
    restore(two, 1)
    failure(lambda: commit_append(old, "z")).require(
        "CommitConflictError", "Incompatible transaction: This Append transaction"
    )
    assert head(two) == (3, "a b")


def test_a_restore_trumps_commits_that_came_between(two: LanceDataset) -> None:
    """A restore itself trumps a commit that came in between: append, delete, upsert, overwrite
    and another restore; it is rebased at 0 retries.
    """
    for number, rival in enumerate(
        (
            lambda ds: append(ds, "z"),
            lambda ds: delete(ds, "a"),
            lambda ds: upsert(ds, "a", "n"),
            lambda ds: overwrite(ds, "o"),
            lambda ds: restore(ds, 2),
        )
    ):
        base = again(two)
        rival(again(two))
        landed = restore(base, 1)
        assert landed.version == base.version + 2
        assert head(two) == (4 + 2 * number, "a b")


def test_a_restore_is_refused_over_schema_metadata(two: LanceDataset) -> None:
    """The exception: a schema-metadata update in between makes a restore incompatible, while a
    config update does not.
    """
    one, other = again(two), again(two)
    two.update_config({"k": "1"})
    restore(one, 1)
    stale = again(two)
    again(two).update_schema_metadata({"k": "1"})
    failed = failure(lambda: restore(stale, 1))
    failed.require(
        "CommitConflictError",
        "Incompatible transaction: This Restore transaction is incompatible with concurrent "
        "transaction UpdateConfig",
    )
    assert failed.retryable is False
    failure(lambda: restore(other, 1)).require("CommitConflictError", "Incompatible transaction: ")


def test_row_ids_are_not_reused_after_a_restore(two: LanceDataset) -> None:
    """Row ids are not reused after a restore."""
    restore(two, 1)
    found = append(again(two), "d").to_table(columns=["id"], with_row_id=True)
    assert dict(zip(found["id"].to_pylist(), found["_rowid"].to_pylist(), strict=True)) == {
        "a": 0,
        "b": 1,
        "d": 3,
    }, "2 was c's, which is not visible any more"


def test_restoring_an_unknown_version_is_not_found(two: LanceDataset) -> None:
    """Restore of a version that is not there: OSError "Not found: …/_versions/99.manifest"."""
    failure(lambda: restore(two, 99)).require("OSError", "Not found: ", contains=["99.manifest"])
    assert head(two) == (2, "a b c")
