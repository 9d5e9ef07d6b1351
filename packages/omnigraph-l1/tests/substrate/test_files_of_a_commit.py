"""Which files each commit adds, and how to name them from metadata alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import lance
import pytest
from lance import LanceDataset

from ._support import (
    again,
    append,
    delete,
    files,
    manifest_name,
    overwrite,
    people,
    restore,
    rows,
    upsert,
)

STEPS: dict[str, tuple[Callable[[LanceDataset], object], dict[str, int]]] = {
    "append": (lambda ds: append(ds, "z"), {"data": 1, "_transactions": 1, "_versions": 1}),
    "append of two files": (
        lambda ds: lance.write_dataset(people("y", "z"), ds, mode="append", max_rows_per_file=1),
        {"data": 2, "_transactions": 1, "_versions": 1},
    ),
    "append of no rows": (append, {"_transactions": 1, "_versions": 1}),
    "delete of some rows": (
        lambda ds: delete(ds, "a"),
        {"_deletions": 1, "_transactions": 1, "_versions": 1},
    ),
    "delete of a fragment": (lambda ds: delete(ds, "c"), {"_transactions": 1, "_versions": 1}),
    "upsert": (
        lambda ds: upsert(ds, "a", "z"),
        {"data": 1, "_deletions": 1, "_transactions": 1, "_versions": 1},
    ),
    "overwrite": (lambda ds: overwrite(ds, "o"), {"data": 1, "_transactions": 1, "_versions": 1}),
    "restore": (lambda ds: restore(ds, 1), {"_transactions": 1, "_versions": 1}),
    "config": (lambda ds: ds.update_config({"k": "1"}), {"_transactions": 1, "_versions": 1}),
    "index": (
        lambda ds: ds.create_scalar_index("id", "BTREE"),
        {"_indices": 2, "_transactions": 1, "_versions": 1},
    ),
    "compaction": (
        lambda ds: ds.optimize.compact_files(),
        {"data": 1, "_transactions": 2, "_versions": 2},
    ),
    "tag": (lambda ds: ds.tags.create("t"), {"_refs": 1}),
    "branch": (lambda ds: ds.create_branch("x"), {"_refs": 1, "tree": 3}),
}


def _named_by_metadata(dataset: LanceDataset) -> set[str]:
    """Name the files of the version that is open, without asking the store for a listing."""
    found = {"_versions/" + manifest_name(dataset.version)}
    transaction = dataset.read_transaction(dataset.version)
    assert transaction is not None
    found.add(f"_transactions/{transaction.read_version}-{transaction.uuid}.txn")
    for fragment in dataset.get_fragments():
        metadata = fragment.metadata
        found |= {f"data/{file.path}" for file in metadata.files}
        if metadata.deletion_file is not None:
            found.add(metadata.deletion_file.path(fragment.fragment_id))
    return found


@pytest.mark.parametrize("step", STEPS)
def test_a_commit_adds_just_these_files(step: str, two: LanceDataset) -> None:
    """A commit adds its data, deletion and index files, one _transactions file and one manifest
    (twice for a compaction); the hint is replaced; a tag or a branch adds no version.
    """
    change, expected = STEPS[step]
    before = files(two.uri)
    change(again(two))
    added: dict[str, int] = {}
    for name in files(two.uri) - before:
        added[name.split("/")[0]] = added.get(name.split("/")[0], 0) + 1
    assert added == expected


@pytest.mark.parametrize("step", list(STEPS)[:9])
def test_the_files_of_a_version_are_named_by_its_metadata(step: str, two: LanceDataset) -> None:
    """The files that one new version added are those that its metadata names and its base's
    does not: data files, deletion files, transaction, manifest.
    """
    known = _named_by_metadata(two)
    before = files(two.uri)
    STEPS[step][0](again(two))
    latest = again(two)
    assert latest.version == 3
    if step == "restore":
        # It shares all its data with the version that it brings back.
        known |= _named_by_metadata(again(two, 1))
    assert _named_by_metadata(latest) - known == files(two.uri) - before


def test_an_index_is_a_folder_named_by_its_uuid(two: LanceDataset) -> None:
    """The files of an index lie in _indices/<uuid>; the listing of indices tells the uuid."""
    before = files(two.uri)
    two.create_scalar_index("id", "BTREE")
    (index,) = again(two).describe_indices()
    (segment,) = index.segments
    added = {name for name in files(two.uri) - before if name.startswith("_indices/")}
    assert {str(Path(name).parent) for name in added} == {f"_indices/{segment.uuid}"}


def test_tracked_files_lists_them_by_version(two: LanceDataset) -> None:
    """tracked_files(min_version=v) names all files of the versions from v on, with their kind and
    the root that they are relative to.
    """
    upsert(again(two), "a", "z")
    latest = again(two)
    listed = latest.tracked_files(min_version=3).read_all().to_pylist()
    assert {row["path"] for row in listed} == _named_by_metadata(latest)
    assert {row["version"] for row in listed} == {3}
    assert {row["type"] for row in listed} == {
        "data file",
        "deletion file",
        "manifest",
        "transaction file",
    }


def test_tracked_files_of_a_branch_names_the_root_of_each(two: LanceDataset) -> None:
    """On a branch the files of the parent are listed with the parent's root."""
    branch = append(two.create_branch("x"), "n")
    listed = branch.tracked_files(min_version=branch.version).read_all().to_pylist()
    data = {row["base_uri"] for row in listed if row["type"] == "data file"}
    own = {row["base_uri"] for row in listed if row["type"] == "manifest"}
    assert len(data) == 2
    assert {base.strip("/") for base in own} == {f"{two.uri}/tree/x".strip("/")}
    assert rows(branch) == "a b c n"
