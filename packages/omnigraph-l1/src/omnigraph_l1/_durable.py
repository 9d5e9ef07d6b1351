"""Bringing files of local disk to the platter: Lance itself never does it.

Always: when a function here returns, what it was given survives a power cut. A name is durable
only when the directory that holds it is, so both are needed. It knows paths, not datasets.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

__all__ = ["sync_directories", "sync_files", "sync_with_parents"]


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        if sys.platform == "darwin":
            import fcntl  # noqa: PLC0415

            # On macOS fsync stops at the drive's cache.
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_files(paths: Iterable[Path], *, missing_ok: bool = False) -> None:
    """Flush each file, then each directory that holds one."""
    directories: dict[Path, None] = {}
    for path in paths:
        try:
            _sync(path, os.O_RDONLY)
        except FileNotFoundError:
            if not missing_ok:
                raise
        else:
            directories[path.parent] = None
    sync_directories(directories)


def sync_directories(paths: Iterable[Path]) -> None:
    """Flush the names in each directory."""
    for path in paths:
        _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def sync_with_parents(directory: Path, upto: Path) -> None:
    """Flush ``directory`` and all above it, down from and including ``upto``."""
    chain = [directory]
    while chain[-1] != upto and chain[-1] != chain[-1].parent:
        chain.append(chain[-1].parent)
    sync_directories(chain)
