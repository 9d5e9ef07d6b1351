"""A branch whose creation was cut short: its files are there, its reference is not."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import lance
import pytest
from lance import LanceDataset

from ._support import (
    BRANCH_IS_THERE,
    DATA_IS_MISSING,
    append,
    failure,
    files,
    overwrite,
    rows,
    spawn,
    versions,
)


def _cut_short(dataset: LanceDataset, name: str) -> None:
    """Leave what a process leaves that dies before the last write of create_branch."""
    dataset.create_branch(name)
    (Path(dataset.uri) / "_refs" / "branches" / f"{name}.json").unlink()


def test_the_reference_is_the_last_thing_written(table: LanceDataset) -> None:
    """Killed inside create_branch: the last write is _refs/branches/<b>.json. Without it the
    branch is whole in all else, even where the writing of the reference is what failed.
    """
    (Path(table.uri) / "_refs").mkdir()
    (Path(table.uri) / "_refs" / "branches").touch()
    failure(lambda: table.create_branch("x")).require("OSError", "LanceError(IO): ")
    assert rows(lance.dataset(f"{table.uri}/tree/x")) == "a b"


@pytest.mark.integration
def test_a_killed_creator_leaves_it(table: LanceDataset) -> None:
    """The same with a real process that is killed while it waits to write the reference."""
    refs = Path(table.uri) / "_refs" / "branches"
    refs.mkdir(parents=True)
    # A creator never gets past a directory that is in the place of the reference.
    (refs / "x.json").mkdir()
    code = "print(failure(lambda: lance.dataset(sys.argv[1]).create_branch('x')).type, flush=True)"
    creator = spawn(code + "\nsys.stdin.read()", table.uri)
    assert creator.stdout is not None
    assert creator.stdout.readline() == "OSError\n"
    creator.kill()
    creator.communicate()
    (refs / "x.json").rmdir()
    assert table.branches.list() == {}
    failure(lambda: table.create_branch("x")).require(
        "OSError", "Encountered internal error.", contains=[BRANCH_IS_THERE]
    )


def test_a_half_made_branch_opens_and_writes_and_is_not_listed(table: LanceDataset) -> None:
    """Killed inside create_branch: the branch opens and writes, but branches.list() lacks it."""
    _cut_short(table, "x")
    assert rows(table.checkout_version(("x", None))) == "a b"
    append(f"{table.uri}/tree/x", "n")
    assert rows(table.checkout_version(("x", None))) == "a b n"
    assert table.branches.list() == {}


def test_a_half_made_branch_can_neither_be_created_nor_deleted(two: LanceDataset) -> None:
    """… creating fails for ever, with the two texts of a branch that is there, and
    branches.delete says "Ref not found".
    """
    _cut_short(two, "x")
    failure(lambda: two.create_branch("x")).require(
        "OSError", "Encountered internal error.", contains=[BRANCH_IS_THERE]
    )
    failure(lambda: two.create_branch("x", 1)).require(
        "OSError", "Dataset at path ", contains=["/tree/x/_versions/1.manifest was not found"]
    )
    failure(lambda: two.branches.delete("x")).require(
        "ValueError", "Ref not found error: Branch x does not exist"
    )


def test_what_comes_before_its_version_file_does_not_count(table: LanceDataset) -> None:
    """A creator that died before the version file leaves nothing that stands in the way."""
    left = Path(table.uri) / "tree" / "x" / "_transactions"
    left.mkdir(parents=True)
    (left / "1-0.txn").write_bytes(b"x")
    assert rows(table.create_branch("x")) == "a b"
    assert list(table.branches.list()) == ["x"]


def test_a_cleanup_of_main_deletes_the_files_of_a_half_made_branch(table: LanceDataset) -> None:
    """… and a cleanup of main deletes its base files."""
    _cut_short(table, "x")
    overwrite(table, "o").cleanup_old_versions(older_than=timedelta(0))
    failure(lambda: rows(table.checkout_version(("x", None)))).require(
        "ArrowInvalid", DATA_IS_MISSING
    )


@pytest.mark.parametrize("how", ["older_than", "versions"])
def test_a_cleanup_of_main_spares_what_a_branch_starts_from(how: str, table: LanceDataset) -> None:
    """cleanup_old_versions spares versions that a Lance branch starts from."""
    table.create_branch("x")
    newest = overwrite(table, "o")
    if how == "older_than":
        newest.cleanup_old_versions(older_than=timedelta(0))
    else:
        newest.cleanup_old_versions(versions=[1])
    assert versions(table) == [1, 2]
    assert rows(table.checkout_version(("x", None))) == "a b"
    assert any(name.startswith("tree/x/") for name in files(table.uri))
