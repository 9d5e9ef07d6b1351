"""Compaction in three steps, and what it meets."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lance import LanceDataset
from lance.optimize import Compaction, CompactionOptions, RewriteResult

from ._support import again, append, delete, failure, head, restore, upsert


def _rewritten(dataset: LanceDataset) -> list[RewriteResult]:
    plan = Compaction.plan(dataset, CompactionOptions())
    return [task.execute(dataset) for task in plan.tasks]


def test_plan_execute_commit_is_two_versions(two: LanceDataset) -> None:
    """Compaction.plan, execute and commit make two versions: a reservation of fragment ids and
    the rewrite. The handle moves to the second.
    """
    done = Compaction.commit(two, _rewritten(two))
    assert (done.fragments_removed, done.fragments_added) == (2, 1)
    assert two.version == 4
    assert head(two) == (4, "a b c")
    assert [fragment.fragment_id for fragment in again(two).get_fragments()] == [2]


LANDS: dict[str, Callable[[LanceDataset], object]] = {
    "append": lambda ds: append(ds, "z"),
    "insert": lambda ds: upsert(ds, "z"),
    "config": lambda ds: ds.update_config({"k": "1"}),
}


@pytest.mark.parametrize("rival", LANDS)
def test_a_compaction_lands_over(rival: str, two: LanceDataset) -> None:
    """A compaction lands over appends, inserts of new keys and config updates."""
    rewritten = _rewritten(two)
    LANDS[rival](again(two))
    Compaction.commit(two, rewritten)
    assert head(two) == (5, "a b c" if rival == "config" else "a b c z")


REFUSED: dict[str, tuple[Callable[[LanceDataset], object], str, str]] = {
    "delete": (lambda ds: delete(ds, "a"), "Delete", "b c"),
    "update": (lambda ds: upsert(ds, "a"), "Update", "a b c"),
    "index": (lambda ds: ds.create_scalar_index("id", "BTREE"), "CreateIndex", "a b c"),
}


@pytest.mark.parametrize("rival", REFUSED)
def test_a_compaction_is_refused_over(rival: str, two: LanceDataset) -> None:
    """A compaction that meets deletes, updates or an index is refused, retryable by its text (a
    plain OSError), and loses nothing; its reservation stays, as a version without changes.
    """
    change, name, left = REFUSED[rival]
    rewritten = _rewritten(two)
    change(again(two))
    failure(lambda: Compaction.commit(two, rewritten)).require(
        "OSError",
        "Retryable commit conflict for version 3: This Rewrite transaction was preempted by "
        f"concurrent transaction {name} at version 3.",
    )
    assert head(two) == (4, left)


def test_of_two_compactions_one_is_refused(two: LanceDataset) -> None:
    """Two compactions of the same fragments: the second is refused, retryable."""
    rewritten = _rewritten(two)
    again(two).optimize.compact_files()
    failure(lambda: Compaction.commit(two, rewritten)).require(
        "OSError",
        "Retryable commit conflict for version 4: This Rewrite transaction was preempted by "
        "concurrent transaction Rewrite at version 4.",
    )
    assert head(two) == (5, "a b c")


def test_a_compaction_over_a_restore_is_refused_before_anything(two: LanceDataset) -> None:
    """Over a restore the reservation itself is refused, as incompatible: no version is made."""
    rewritten = _rewritten(two)
    restore(again(two), 1)
    failure(lambda: Compaction.commit(two, rewritten)).require(
        "OSError", "Incompatible transaction: This ReserveFragments transaction"
    )
    assert head(two) == (3, "a b")


def test_superseded_rows_go_only_from_fragments_with_enough_of_them(two: LanceDataset) -> None:
    """A compaction drops deleted rows: what is left is what is counted."""
    delete(two, "a")
    two.optimize.compact_files(materialize_deletions_threshold=0.0)
    (fragment,) = again(two).get_fragments()
    assert (fragment.physical_rows, fragment.num_deletions) == (2, 0)


def test_each_publish_adds_a_fragment(keyed: LanceDataset) -> None:
    """An append-only manifest without compaction grows by one fragment a publish; a compaction
    brings it back to one.
    """
    for number in range(5):
        upsert(again(keyed), f"k{number}")
        assert len(again(keyed).get_fragments()) == 2 + number
    again(keyed).optimize.compact_files()
    assert len(again(keyed).get_fragments()) == 1
