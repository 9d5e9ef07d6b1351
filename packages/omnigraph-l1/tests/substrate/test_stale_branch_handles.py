"""Handles that outlive their branch."""

from __future__ import annotations

from lance import LanceDataset

from ._support import append, commit_append, failure, files, rows


def test_a_handle_of_a_deleted_branch_reads_on(table: LanceDataset) -> None:
    """A handle that was opened on a branch keeps reading after the branch was deleted, as far as
    the rows are the parent's; refreshing it says "Not found: …/tree/x/_versions".
    """
    table.create_branch("x")
    held = table.checkout_version(("x", None))
    table.branches.delete("x")
    assert rows(held) == "a b"
    failure(held.checkout_latest).require(
        "ValueError", "Not found: ", contains=["/tree/x/_versions"]
    )


def test_a_handle_writes_into_the_next_branch_of_its_name(table: LanceDataset) -> None:
    """… and after the name was created again it *writes into the new branch*."""
    table.create_branch("x")
    held = table.checkout_version(("x", None))
    table.branches.delete("x")
    table.create_branch("x")
    assert commit_append(held, "n").version == 2
    assert rows(table.checkout_version(("x", None))) == "a b n"


def test_a_write_to_a_deleted_branch_makes_a_half_made_one(table: LanceDataset) -> None:
    """Where the name was not created again, the write is accepted too: files that no listing
    shows.
    """
    table.create_branch("x")
    held = table.checkout_version(("x", None))
    table.branches.delete("x")
    assert not [name for name in files(table.uri) if name.startswith("tree/")]
    append(held, "n")
    assert table.branches.list() == {}
    assert rows(table.checkout_version(("x", None))) == "a b n"
