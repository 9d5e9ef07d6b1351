"""Refuse what would lead out of a location on local disk: links, and files that are no files.

Invariant: whatever a directory that is opened here contains, nothing outside of it is read as data,
changed or removed. The directory itself may be reached through a link. A hard link is
a file of the directory: none of ours is changed in place.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from omnigraph_l1.errors import UnsafePath

__all__ = ["check_directories", "check_files", "check_tree", "open_contained", "read_contained"]


def check_directories(top: Path, names: Iterable[str]) -> None:
    """Raise ``UnsafePath`` if a name below ``top``, or a directory on the way, is no directory.

    A name that does not exist is no error. ``top`` itself may be a link.
    """
    seen: set[str] = set()
    for name in names:
        path = ""
        for part in name.split("/"):
            path = f"{path}/{part}" if path else part
            if path in seen:
                continue
            seen.add(path)
            whole = f"{top}/{path}"
            if not _is_safe(part):
                raise _leads_out(whole)
            if not _has_kind(whole, stat.S_IFDIR, "a directory"):
                break


def check_files(paths: Iterable[str]) -> None:
    """Raise ``UnsafePath`` if one is something else than a file, or leads up; it may be missing."""
    for path in paths:
        if "/../" in path or "/./" in path or "\0" in path:
            raise _leads_out(path)
        _has_kind(path, stat.S_IFREG, "a file")


def check_tree(directory: Path) -> None:
    """Raise ``UnsafePath`` if anything below a directory is neither a directory nor a file."""
    pending = [directory]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(Path(entry.path))
                    elif not entry.is_file(follow_symlinks=False):
                        mode = entry.stat(follow_symlinks=False).st_mode
                        raise UnsafePath(
                            path=entry.path, expected="a file or a directory", found=_kind(mode)
                        )
        except (FileNotFoundError, NotADirectoryError):
            continue


def read_contained(path: Path) -> bytes:
    """Read a file that must not be a link; raise ``UnsafePath`` if it is no file."""
    with os.fdopen(open_contained(path, os.O_RDONLY), "rb") as file:
        return file.read()


def open_contained(path: Path, flags: int, mode: int = 0o666) -> int:
    """Open a file that must not be a link; raise ``UnsafePath`` if it is no file."""
    # Without O_NONBLOCK, opening a pipe waits for its other end.
    safe = flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, safe, mode)
    except OSError:
        _has_kind(str(path), stat.S_IFREG, "a file")
        raise
    found = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(found):
        os.close(descriptor)
        raise UnsafePath(path=str(path), expected="a file", found=_kind(found))
    return descriptor


def _is_safe(name: str) -> bool:
    return name not in {"", ".", ".."} and "/" not in name and "\0" not in name


def _leads_out(path: str) -> UnsafePath:
    return UnsafePath(path=path, expected="a name in that directory", found="another path")


def _has_kind(path: str, kind: int, expected: str) -> bool:
    """Return whether there is something of a kind; raise if it is of another."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    if stat.S_IFMT(mode) != kind:
        raise UnsafePath(path=path, expected=expected, found=_kind(mode))
    return True


_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a directory",
    stat.S_IFREG: "a file",
}


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "a device")
