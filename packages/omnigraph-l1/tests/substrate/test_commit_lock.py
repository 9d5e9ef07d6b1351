"""commit_lock=: what it is called with, and what it does not protect from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from lance import LanceDataset, LanceOperation

from ._support import again, commit, elsewhere, failure, head, staged, versions

RACE = "append(sys.argv[1], 'r')"
RACE_AND_CLEAN = """
from datetime import timedelta
for one in 'rst': append(sys.argv[1], one)
lance.dataset(sys.argv[1]).cleanup_old_versions(older_than=timedelta(0))
"""


class Locks:
    """A lock that notes the versions that it was asked for, and lets others in first."""

    def __init__(self, meanwhile: str | None, uri: str) -> None:
        self.asked: list[int] = []
        self._meanwhile = meanwhile
        self._uri = uri

    @contextmanager
    def __call__(self, version: int) -> Iterator[None]:
        """Note the version; the first time, let another process do its work."""
        self.asked.append(version)
        if self._meanwhile is not None and len(self.asked) == 1:
            elsewhere(self._meanwhile, self._uri)
        yield


def test_the_lock_is_asked_for_the_version_to_be_written(table: LanceDataset) -> None:
    """commit_lock= is called with the version about to be written."""
    locks = Locks(None, table.uri)
    commit(table, LanceOperation.Append(staged(table, "c")), commit_lock=locks)
    assert locks.asked == [2]


@pytest.mark.integration
def test_a_version_that_appears_under_the_lock_is_seen(table: LanceDataset) -> None:
    """Under the lock Lance looks whether the version is there: one that another process wrote
    meanwhile is not replaced ("Commit conflict for version 2").
    """
    locks = Locks(RACE, table.uri)
    operation = LanceOperation.Append(staged(table, "c"))
    failed = failure(lambda: commit(table, operation, commit_lock=locks))
    failed.require(
        "CommitConflictError",
        "Commit conflict for version 2: Failed to commit the transaction after 0 retries.",
    )
    assert failed.retryable is True
    assert head(table) == (2, "a b r")


@pytest.mark.integration
def test_a_slow_commit_is_written_into_the_past(table: LanceDataset) -> None:
    """An append that was held up while its successors came and were cleaned away is written
    into the past: it is told that it succeeded, and its rows are nowhere.
    """
    locks = Locks(RACE_AND_CLEAN, table.uri)
    landed = commit(table, LanceOperation.Append(staged(table, "c")), commit_lock=locks)
    assert (landed.version, locks.asked) == (2, [2])
    assert versions(table) == [2, 4]
    assert head(table) == (4, "a b r s t")
    assert again(table, 2).count_rows() == 3
