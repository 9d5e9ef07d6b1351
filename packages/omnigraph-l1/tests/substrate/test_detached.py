"""Detached commits: why they are no way to stage a change."""

from __future__ import annotations

from datetime import timedelta

from lance import LanceDataset, LanceOperation

from ._support import (
    again,
    append,
    commit,
    delete,
    failure,
    files,
    head,
    overwrite,
    rows,
    staged,
    versions,
)


def _detached(dataset: LanceDataset, name: str, base: int) -> LanceDataset:
    operation = LanceOperation.Append(staged(dataset, name))
    return commit(dataset, operation, base=base, detached=True, max_retries=1)


def test_a_detached_commit_is_no_version_of_the_lineage(table: LanceDataset) -> None:
    """A detached commit has a number above 2**63, is not listed, and opens by its number."""
    made = _detached(table, "c", 1)
    assert made.version > 2**63
    assert versions(table) == [1]
    assert head(table) == (1, "a b")
    assert rows(again(table, made.version)) == "a b c"
    assert f"_versions/d{made.version}.manifest" in files(table.uri)


def test_a_detached_commit_needs_a_retry(table: LanceDataset) -> None:
    """With max_retries=0 a detached commit does not even try."""
    operation = LanceOperation.Append(staged(table, "c"))
    failure(lambda: commit(table, operation, detached=True)).require(
        "CommitConflictError", "Commit conflict for version 0: Failed find unused random u64"
    )


def test_detached_commits_ignore_read_version(two: LanceDataset) -> None:
    """Detached commits ignore read_version and conflicts (the base is the handle's)."""
    for base in (1, 99):
        assert rows(_detached(two, "z", base)) == "a b c z"
    old = again(two)
    overwrite(two, "o")
    assert rows(_detached(old, "z", 2)) == "a b c z"


def test_detached_commits_are_never_cleaned(table: LanceDataset) -> None:
    """… are never cleaned: their version file stays while their data goes."""
    made = _detached(table, "c", 1)
    latest = append(table, "d")
    latest.cleanup_old_versions(older_than=timedelta(0), delete_unverified=True)
    assert f"_versions/d{made.version}.manifest" in files(table.uri)
    delete(again(table), "a")
    assert head(table) == (3, "b d")
