"""Unpack a golden repository where it was written.

A branch records the absolute path below which it was created. So each golden repository is written
and unpacked at one path. The path belongs to no user and no checkout; a lock orders the tests of
several workers and checkouts that want it at once.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["ARCHIVES", "PLACE", "golden_copy", "read_expected"]

ARCHIVES = Path(__file__).parent / "archives"
PLACE = Path("/tmp/omnigraph-golden")
_DEADLINE_SECONDS = 300.0


def read_expected(name: str) -> dict[str, Any]:
    """Return what a golden repository must contain."""
    expected: dict[str, Any] = json.loads((ARCHIVES / f"{name}.json").read_text())
    return expected


@contextmanager
def golden_copy(name: str) -> Iterator[Path]:
    """Unpack a golden repository, and remove the copy afterwards."""
    PLACE.mkdir(exist_ok=True)
    copy = PLACE / name
    with (PLACE / f"{name}.lock").open("w") as lock:
        _acquire(lock)
        shutil.rmtree(copy, ignore_errors=True)  # left by a test that was killed
        try:
            with tarfile.open(ARCHIVES / f"{name}.tar.xz") as archive:
                archive.extractall(PLACE, filter="data")
            yield copy
        finally:
            shutil.rmtree(copy)


def _acquire(lock: IO[str]) -> None:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TimeoutError(lock.name, "is locked by another test run") from None
            time.sleep(0.05)
        else:
            return
