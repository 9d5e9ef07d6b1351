"""A dataset with branches that is copied or moved: the base of a branch is an absolute path."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import lance
import pytest
from lance import LanceDataset

from ._support import DATA_IS_MISSING, append, elsewhere, failure, head, rows


@pytest.fixture
def copied(table: LanceDataset, tmp_path: Path) -> Path:
    """A copy of a dataset with branch x (rows a b n) and its child y (rows a b n m)."""
    branch = append(table.create_branch("x"), "n")
    append(branch.create_branch("y"), "m")
    location = tmp_path / "copy"
    shutil.copytree(table.uri, location)
    return location


def _bases(dataset: LanceDataset) -> dict[str, str | None]:
    return {base.path: base.name for base in dataset.base_paths().values()}


def test_a_branch_names_the_absolute_path_of_its_root(table: LanceDataset, copied: Path) -> None:
    """The manifests of a branch carry base paths: the absolute path of the root it was made in,
    and one more for each branch on the way, with that branch's name. main has none.
    """
    root = str(table.uri)
    for location in (root, str(copied)):
        assert _bases(lance.dataset(location)) == {}
        assert _bases(lance.dataset(f"{location}/tree/x")) == {root: None}
        assert _bases(lance.dataset(f"{location}/tree/y")) == {root: None, f"{root}/tree/x": "x"}


def test_a_copied_branch_reads_the_files_of_the_original(table: LanceDataset, copied: Path) -> None:
    """While the original is there, a branch of the copy reads the original's files, silently."""
    branch = f"{copied}/tree/x"
    for data in (copied / "data").iterdir():
        data.unlink()
    assert rows(lance.dataset(branch)) == "a b n"
    shutil.rmtree(Path(table.uri) / "data")
    failure(lambda: rows(lance.dataset(branch))).require(
        "ArrowInvalid", DATA_IS_MISSING, contains=[str(table.uri)]
    )


def test_a_branch_does_not_survive_a_move(table: LanceDataset, copied: Path) -> None:
    """With the original gone, a branch of the copy opens, takes appends, and cannot be read;
    main is whole.
    """
    shutil.rmtree(table.uri)
    assert head(lance.dataset(str(copied))) == (1, "a b")
    for branch in ("x", "y"):
        uri = f"{copied}/tree/{branch}"
        assert append(uri, "z").version == lance.dataset(uri).version
        failure(lambda: rows(lance.dataset(uri))).require(  # noqa: B023
            "ArrowInvalid", DATA_IS_MISSING, contains=[str(table.uri)]
        )


def test_a_compacted_branch_does_not_survive_a_move_by_its_history(
    table: LanceDataset, copied: Path
) -> None:
    """A branch that was compacted before the move has all rows of its newest version below
    itself, so that version can be read; the older ones cannot.
    """
    original = lance.dataset(f"{table.uri}/tree/x")
    original.optimize.compact_files()
    shutil.rmtree(copied)
    shutil.copytree(table.uri, copied)
    shutil.rmtree(table.uri)
    moved = lance.dataset(f"{copied}/tree/x")
    assert rows(moved) == "a b n"
    failure(lambda: rows(lance.dataset(f"{copied}/tree/x", version=2))).require(
        "ArrowInvalid", DATA_IS_MISSING
    )


@pytest.mark.integration
def test_a_relative_root_is_recorded_relative_to_the_working_directory(tmp_path: Path) -> None:
    """A branch made through a relative URI records that: from elsewhere it cannot be read."""
    code = """
import json, os
os.chdir(sys.argv[1])
ds = create("t", "a")
append(ds.create_branch("x"), "n")
print(json.dumps([base.path for base in lance.dataset("t/tree/x").base_paths().values()]))
"""
    assert elsewhere(code, tmp_path) == ["t"]
    failure(lambda: rows(lance.dataset(f"{tmp_path}/t/tree/x"))).require(
        "ArrowInvalid", DATA_IS_MISSING
    )


def test_the_reference_of_a_branch_has_no_path(table: LanceDataset, copied: Path) -> None:
    """_refs/branches/<b>.json names no location: only the manifests of the branch do."""
    reference = json.loads((copied / "_refs" / "branches" / "x.json").read_text())
    assert str(table.uri) not in json.dumps(reference)
    assert sorted(reference) == [
        "createAt",
        "identifier",
        "manifestSize",
        "metadata",
        "parentBranch",
        "parentVersion",
    ]
