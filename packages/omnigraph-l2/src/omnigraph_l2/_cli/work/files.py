"""The data files of a table, counted from what its manifest says: nothing is listed or read."""

from __future__ import annotations

from typing import Any

from attrs import frozen

__all__ = ["FilesOf", "files_of", "own_bytes"]


@frozen
class FilesOf:
    """So many files, of so many bytes."""

    files: int
    bytes: int


def files_of(dataset: Any) -> FilesOf:
    """Count the data files that one version of a dataset shows."""
    sizes = [
        file.file_size_bytes or 0
        for fragment in dataset.get_fragments()
        for file in fragment.metadata.files
    ]
    return FilesOf(len(sizes), sum(sizes))


def own_bytes(dataset: Any) -> int:
    """Count the bytes of the data files that a fork does not share with what it started from."""
    return sum(
        file.file_size_bytes or 0
        for fragment in dataset.get_fragments()
        for file in fragment.metadata.files
        if getattr(file, "base_id", None) is None
    )
