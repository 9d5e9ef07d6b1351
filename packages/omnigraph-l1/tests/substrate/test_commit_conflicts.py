"""By which type and text each kind of refused commit is recognised."""

from __future__ import annotations

from collections.abc import Callable

import lance
import pytest
from lance import LanceDataset, LanceOperation
from lance.commit import CommitConflictError
from lance.optimize import Compaction, CompactionOptions

from ._support import (
    TOO_MANY_WRITERS,
    again,
    append,
    commit,
    commit_append,
    delete,
    failure,
    head,
    overwrite,
    restore,
    staged,
    upsert,
)


def test_commit_conflict_error_is_an_os_error_with_retryable() -> None:
    """lance.commit.CommitConflictError (an OSError) has .retryable."""
    assert issubclass(CommitConflictError, OSError)
    assert CommitConflictError("x", retryable=False).retryable is False
    assert CommitConflictError("x").retryable is True


def test_an_incompatible_commit_is_not_retryable(two: LanceDataset) -> None:
    """A commit over one that it cannot live with: CommitConflictError, retryable False, and the
    text names both operations and the version: "Incompatible transaction: This Append …".
    """
    old = again(two)
    restore(two, 1)
    failed = failure(lambda: commit_append(old, "z"))
    failed.require(
        "CommitConflictError",
        "Incompatible transaction: This Append transaction is incompatible with concurrent "
        "transaction Restore at version 3.",
    )
    assert failed.retryable is False


def test_a_preempted_commit_is_retryable(two: LanceDataset) -> None:
    """A commit that would do on the newer version: CommitConflictError, retryable True, and the
    text starts "Retryable commit conflict for version 3: This Merge transaction was preempted".
    """
    old = again(two)
    append(two, "z")
    failed = failure(lambda: old.add_columns({"y": "x + 1"}))
    failed.require(
        "CommitConflictError",
        "Retryable commit conflict for version 3: This Merge transaction was preempted by "
        "concurrent transaction Append at version 3. Please retry.",
    )
    assert failed.retryable is True


def test_an_overwrite_of_ours_is_refused_over_anything_newer(two: LanceDataset) -> None:
    """An Overwrite with max_retries=0 is not rebased: over anything newer it is refused with
    CommitConflictError, retryable, "Commit conflict for version 3: Failed to commit …".
    """
    old = again(two)
    append(two, "z")
    failed = failure(lambda: overwrite(old, "o"))
    failed.require(
        "CommitConflictError",
        "Commit conflict for version 3: Failed to commit the transaction after 0 retries.",
    )
    assert failed.retryable is True
    assert head(two) == (3, "a b c z")


@pytest.mark.parametrize(
    "second",
    [
        lambda ds: delete(ds, "a"),
        lambda ds: upsert(ds, "a"),
        lambda ds: ds.update({"x": "7"}, where="id='a'", conflict_retries=0),
    ],
    ids=["delete", "merge-insert", "update"],
)
def test_operations_that_retry_themselves_say_too_many_writers(
    two: LanceDataset, second: Callable[[LanceDataset], object]
) -> None:
    """Delete, update and merge-insert with 0 retries that meet another change of their rows:
    a plain OSError "Too many concurrent writers…", with no .retryable.
    """
    old = again(two)
    upsert(two, "a")
    failed = failure(lambda: second(old))
    failed.require("OSError", TOO_MANY_WRITERS)
    assert failed.retryable is None
    assert head(two) == (3, "a b c")


@pytest.mark.parametrize(
    ("second", "name"),
    [
        (
            lambda ds: delete(ds, "a"),
            "Delete",
        ),
        (
            lambda ds: upsert(ds, "a"),
            "Update",
        ),
        (
            lambda ds: ds.optimize.compact_files(),
            "ReserveFragments",
        ),
        (
            lambda ds: ds.drop_columns(["x"]),
            "Project",
        ),
    ],
    ids=["delete", "merge-insert", "compact", "drop column"],
)
def test_other_conflicts_arrive_as_plain_os_errors(
    two: LanceDataset, second: Callable[[LanceDataset], object], name: str
) -> None:
    """Other conflicts arrive as plain OSError, told only by "Incompatible transaction:"."""
    old = again(two)
    overwrite(two, "o")
    failed = failure(lambda: second(old))
    failed.require(
        "OSError",
        f"Incompatible transaction: This {name} transaction is incompatible with concurrent "
        "transaction Overwrite at version 3.",
    )
    assert failed.retryable is None


def test_two_settings_of_one_config_key_are_incompatible(table: LanceDataset) -> None:
    """Two config updates of one key from one version: "Incompatible transaction: This
    UpdateConfig…", a plain OSError; of different keys: both land.
    """
    second, third = again(table), again(table)
    table.update_config({"k": "1"})
    failure(lambda: second.update_config({"k": "2"})).require(
        "OSError",
        "Incompatible transaction: This UpdateConfig transaction is incompatible with concurrent "
        "transaction UpdateConfig at version 2.",
    )
    third.update_config({"other": "2"})
    assert again(table).config() == {"k": "1", "other": "2"}


def test_a_compaction_meets_a_delete_and_loses_nothing(two: LanceDataset) -> None:
    """A compaction that meets a delete is refused ("Retryable commit conflict", a plain OSError)
    and loses nothing; but its first half, the reservation, stays as a version.
    """
    plan = Compaction.plan(two, CompactionOptions())
    rewritten = [task.execute(two) for task in plan.tasks]
    delete(again(two), "a")
    failure(lambda: Compaction.commit(two, rewritten)).require(
        "OSError",
        "Retryable commit conflict for version 3: This Rewrite transaction was preempted by "
        "concurrent transaction Delete at version 3.",
    )
    assert head(two) == (4, "b c"), "3 is the delete, 4 the reservation that changes no rows"
    assert [fragment.fragment_id for fragment in again(two).get_fragments()] == [0, 1]


def test_deletes_of_different_rows_of_one_fragment_both_land(two: LanceDataset) -> None:
    """dataset.delete looks at rows: two of one fragment, different rows, both land."""
    old = again(two)
    delete(two, "a")
    delete(old, "b")
    assert head(two) == (4, "c")


def test_a_panic_is_no_exception(two: LanceDataset) -> None:
    """Calling Lance from within Lance panics; a panic is a PanicException, a BaseException that
    is no Exception.
    """
    caught: list[BaseException] = []

    class Reenter:
        def __enter__(self) -> None:
            try:
                lance.dataset(two.uri)
            except BaseException as exc:
                caught.append(exc)
                raise

        def __exit__(self, *_: object) -> None: ...

    operation = LanceOperation.Append(staged(two, "z"))
    failed = failure(lambda: commit(two, operation, commit_lock=lambda _version: Reenter()))
    failed.require("PanicException", "Cannot start a runtime from within a runtime")
    assert not isinstance(caught[0], Exception)
    assert head(two) == (2, "a b c")
