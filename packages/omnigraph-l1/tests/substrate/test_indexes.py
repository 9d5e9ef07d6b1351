"""The BTREE on a column: making, extending, and making it without committing."""

from __future__ import annotations

import pytest
from lance import LanceDataset, LanceOperation

from ._support import again, append, commit, delete, failure, files, head, upsert


def _finds(dataset: LanceDataset, name: str) -> bool:
    found = again(dataset).to_table(filter=f"id = '{name}'")
    return bool(found["id"].to_pylist() == [name])


def _covered(dataset: LanceDataset) -> tuple[int, int]:
    """Return how many fragments the index covers, and how many it does not."""
    told = again(dataset).stats.index_stats("id_idx")
    return told["num_indexed_fragments"], told["num_unindexed_fragments"]


def test_an_index_is_used_by_equality_filters(two: LanceDataset) -> None:
    """A BTREE serves equality filters: the plan names it."""
    two.create_scalar_index("id", "BTREE")
    plan = again(two).scanner(filter="id = 'a'").explain_plan()
    assert "ScalarIndexQuery" in plan
    assert "@id_idx(BTree)" in plan
    unused = again(two).scanner(filter="id = 'a'", use_scalar_index=False).explain_plan()
    assert "ScalarIndexQuery" not in unused


def test_rows_that_the_index_lacks_are_found(two: LanceDataset) -> None:
    """Fragments written after the index are found all the same; optimize_indices extends it."""
    two.create_scalar_index("id", "BTREE")
    append(again(two), "d")
    assert _covered(two) == (2, 1)
    assert _finds(two, "d")
    again(two).optimize.optimize_indices()
    assert _covered(two) == (3, 0)
    assert _finds(two, "d")


def test_an_index_follows_a_compaction(two: LanceDataset) -> None:
    """A compaction carries the index over to the new fragment."""
    two.create_scalar_index("id", "BTREE")
    again(two).optimize.compact_files()
    assert _covered(two) == (1, 0)
    assert all(_finds(two, name) for name in "abc")


def test_an_index_forgets_what_was_deleted(two: LanceDataset) -> None:
    """Deleted rows are not found through the index, and updated ones once."""
    two.create_scalar_index("id", "BTREE")
    delete(again(two), "a")
    upsert(again(two), "b", x=9)
    assert not _finds(two, "a")
    assert again(two).to_table(filter="id = 'b'")["x"].to_pylist() == [9]


def test_texts_of_index_failures(two: LanceDataset) -> None:
    """An unknown column is a KeyError, an index that exists or is unknown a RuntimeError."""
    failure(lambda: two.create_scalar_index("y", "BTREE")).require(
        "KeyError", "'y not found in schema'"
    )
    two.create_scalar_index("id", "BTREE")
    failure(lambda: two.create_scalar_index("id", "BTREE", replace=False)).require(
        "RuntimeError", "LanceError(Index): Index name 'id_idx' already exists"
    )
    failure(lambda: two.drop_index("y_idx")).require(
        "RuntimeError", "Lance index not found: name=y_idx"
    )


def test_an_index_can_be_made_without_a_commit(two: LanceDataset) -> None:
    """create_index_uncommitted(…, fragment_ids=[…]) writes the files; a CreateIndex commit of ours
    makes it part of a version. Without fragment_ids it is refused.
    """
    failure(lambda: two.create_index_uncommitted("id", "BTREE", name="id_idx")).require(
        "ValueError", "create_index_uncommitted requires fragment_ids"
    )
    before = files(two.uri)
    made = two.create_index_uncommitted("id", "BTREE", name="id_idx", fragment_ids=[0, 1])
    assert {name.split("/")[:2][1] for name in files(two.uri) - before} == {made.uuid}
    assert head(two)[0] == 2
    landed = commit(two, LanceOperation.CreateIndex([made], []))
    assert landed.version == 3
    assert "@id_idx(BTree)" in landed.scanner(filter="id = 'a'").explain_plan()
    assert _covered(two) == (2, 0)


@pytest.mark.parametrize("rival", ["append", "delete", "compact", "index"])
def test_an_uncommitted_index_over_other_commits(rival: str, two: LanceDataset) -> None:
    """Committed later, it lands over appends and deletes, and is retryable over a compaction and
    over an index of its name.
    """
    made = two.create_index_uncommitted("id", "BTREE", name="id_idx", fragment_ids=[0, 1])
    operation = LanceOperation.CreateIndex([made], [])
    other = again(two)
    if rival == "append":
        append(other, "d")
    elif rival == "delete":
        delete(other, "a")
    elif rival == "compact":
        other.optimize.compact_files()
    else:
        other.create_scalar_index("id", "BTREE")
    if rival in {"append", "delete"}:
        assert commit(two, operation, base=2).version == 4
        assert _finds(two, "b")
        assert _finds(two, "a") is (rival == "append")
    else:
        failed = failure(lambda: commit(two, operation, base=2))
        failed.require("CommitConflictError", "Retryable commit conflict for version ")
        assert failed.retryable is True
