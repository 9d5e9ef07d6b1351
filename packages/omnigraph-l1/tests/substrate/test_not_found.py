"""Places and versions that are not there, and locations that hold something else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import lance
import pytest
from lance import LanceDataset, LanceOperation

from ._support import append, commit, create, failure, files, head, people, staged


def _nothing(location: Path) -> None:
    """Leave the location as it is."""


def _empty_folder(location: Path) -> None:
    location.mkdir()


def _other_files(location: Path) -> None:
    (location / "sub").mkdir(parents=True)
    (location / "note.txt").write_text("hi")


@pytest.mark.parametrize("prepare", [_nothing, _empty_folder, _other_files])
def test_what_is_no_dataset_is_not_found(prepare: Callable[[Path], None], tmp_path: Path) -> None:
    """Nothing, an empty folder and a folder of other files are told alike: ValueError "Dataset at
    path … was not found: Not found: …/_versions" (the path without its leading slash).
    """
    location = tmp_path / "p"
    prepare(location)
    shown = str(location).lstrip("/")
    failure(lambda: lance.dataset(str(location))).require(
        "ValueError", f"Dataset at path {shown} was not found: Not found: {shown}/_versions"
    )


def test_a_plain_file_is_a_walk_that_failed(tmp_path: Path) -> None:
    """A plain file: "LanceError(IO): Generic LocalFileSystem error: Unable to walk dir: … Not a
    directory (os error 20)", a ValueError from open (after two seconds of retries).
    """
    location = tmp_path / "p"
    location.write_text("hi")
    failure(lambda: lance.dataset(str(location))).require(
        "ValueError",
        "LanceError(IO): Generic LocalFileSystem error: Unable to walk dir: ",
        contains=["Not a directory (os error 20)"],
    )
    assert location.read_text() == "hi"


def test_a_write_among_other_files_creates_a_dataset_there(tmp_path: Path) -> None:
    """Creating in a folder of other files is not refused."""
    location = tmp_path / "p"
    _other_files(location)
    assert head(create(location, "a")) == (1, "a")


def test_an_append_by_uri_creates_what_it_does_not_find(tmp_path: Path) -> None:
    """write_dataset(mode="append") on a table it does not find *creates* it."""
    assert append(str(tmp_path / "p"), "a").version == 1


def test_fragments_are_written_where_no_dataset_is(tmp_path: Path) -> None:
    """write_fragments to a location without a dataset writes a data file there."""
    staged(str(tmp_path / "p"), "a")
    assert [name.split("/")[0] for name in files(tmp_path / "p")] == ["data"]


def test_a_commit_creates_nothing(tmp_path: Path) -> None:
    """A commit of an append to nothing: OSError "Dataset at path … was not found: The dataset
    must already exist unless the operation is Overwrite".
    """
    location = str(tmp_path / "p")
    failure(lambda: commit(location, LanceOperation.Append(staged(location, "a")), base=1)).require(
        "OSError",
        "Dataset at path ",
        contains=[
            "was not found: The dataset must already exist unless the operation is Overwrite"
        ],
    )


def test_creating_over_a_dataset_is_refused(table: LanceDataset) -> None:
    """Creating where a dataset is: OSError "Dataset already exists: <uri>"."""
    failure(lambda: create(table.uri, "z")).require(
        "OSError", f"Dataset already exists: {table.uri}"
    )
    assert head(table) == (1, "a b")


@pytest.mark.parametrize("version", [0, 99])
def test_an_unknown_version_is_not_found(version: int, table: LanceDataset) -> None:
    """A version that is not there: "Dataset at path …/_versions/99.manifest was not found", a
    ValueError from lance.dataset, an OSError from the methods of a handle.
    """
    where = [f"/_versions/{version}.manifest was not found: Not found: "]
    failure(lambda: lance.dataset(table.uri, version=version)).require(
        "ValueError", "Dataset at path ", contains=where
    )
    for ask in (
        lambda: table.checkout_version(version),
        lambda: table.read_transaction(version),
        lambda: commit(table, LanceOperation.Append(staged(table, "z")), base=version),
    )[: 3 if version else 2]:
        failure(ask).require("OSError", "Dataset at path ", contains=where)


def test_memory_datasets_are_not_found_again() -> None:
    """memory:// datasets are not found again by a second open."""
    made = lance.write_dataset(people("a"), "memory://substrate")
    assert made.count_rows() == 1
    failure(lambda: lance.dataset("memory://substrate")).require(
        "ValueError", "Dataset at path substrate was not found"
    )
