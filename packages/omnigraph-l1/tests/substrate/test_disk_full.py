"""A disk without room: which commits fail, how, and that the newest version stays whole."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from lance import LanceDataset

from ._support import again, append, create, failure, head, upsert

FULL = "No space left on device (os error 28)"
PAGE = 4096


@pytest.fixture
def small(tmp_path: Path) -> Iterator[LanceDataset]:
    """A dataset on a tmpfs of 200 KiB."""
    location = tmp_path / "small"
    location.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(location)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs: {done.stderr.strip()}")
    try:
        yield create(location / "t", "a", "b")
    finally:
        subprocess.run(["umount", str(location)], check=True)


def _leave(location: Path, pages: int) -> None:
    """Fill the file system up to that many free pages."""
    found = os.statvfs(location)
    (location / "filler").write_bytes(bytes((found.f_bavail - pages) * found.f_frsize))


def test_a_commit_without_room_is_refused(small: LanceDataset) -> None:
    """Without room for the data, the transaction or the manifest a commit is an OSError
    "LanceError(IO): …No space left on device (os error 28)…"; the newest version stays whole.
    """
    location = Path(small.uri).parent
    for pages in (0, 1, 2):
        (location / "filler").unlink(missing_ok=True)
        _leave(location, pages)
        for change in (append, upsert):
            failure(lambda: change(again(small), "z")).require(  # noqa: B023
                "OSError", "LanceError(IO): ", contains=[FULL]
            )
        failure(lambda: again(small).create_branch("x")).require(
            "OSError", "LanceError(IO): ", contains=[FULL]
        )
        assert head(small) == (1, "a b")


def test_room_for_all_but_the_hint_is_enough(small: LanceDataset) -> None:
    """With room for data, transaction and manifest the commit succeeds, though the hint is left
    empty.
    """
    location = Path(small.uri).parent
    _leave(location, 3)
    assert append(again(small), "z").version == 2
    assert (Path(small.uri) / "_versions" / "latest_version_hint.json").read_bytes() == b""
    assert head(small) == (2, "a b z")


def test_it_goes_on_when_there_is_room_again(small: LanceDataset) -> None:
    """After room was made, the same handle commits."""
    location = Path(small.uri).parent
    _leave(location, 0)
    failure(lambda: append(small, "z"))
    (location / "filler").unlink()
    append(small, "z")
    assert head(small) == (2, "a b z")
