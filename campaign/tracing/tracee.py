"""Looking into a stopped process through /proc: its strings, its open files, where it is.

Invariant: nothing of the process is changed. A thread that is stopped at a call keeps its file
descriptors, so what is read here is what the call will use.

Which of these things mean what is the business of ``name_calls`` and ``content_calls``.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import attrs

__all__ = ["O_PATH", "Location", "held_file", "locate", "position", "read_number", "read_string"]

AT_FDCWD = 0xFFFFFF9C
O_PATH = 0o10000000
_PAGE = 4096
_LONGEST_PATH = 4096


@attrs.frozen(kw_only=True)
class Location:
    """Where a name is: the real path of its directory, and the last component."""

    directory: str
    name: str

    @property
    def path(self) -> str:
        """The whole path."""
        return os.path.join(self.directory, self.name)  # noqa: PTH118 - millions of these


def read_string(tid: int, address: int) -> str:
    """Read a zero-terminated string, page by page: the one after it may not be there."""
    found = b""
    descriptor = os.open(f"/proc/{tid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        while len(found) < _LONGEST_PATH:
            here = address + len(found)
            piece = os.pread(descriptor, _PAGE - here % _PAGE, here)
            head, end, _ = piece.partition(b"\0")
            found += head
            if end or not piece:
                break
    finally:
        os.close(descriptor)
    return os.fsdecode(found)


def read_number(tid: int, address: int) -> int:
    """Read a 64-bit number, such as an offset that a call is given by pointer."""
    descriptor = os.open(f"/proc/{tid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        number: int = struct.unpack("=q", os.pread(descriptor, 8, address))[0]
    finally:
        os.close(descriptor)
    return number


def locate(tid: int, directory: int | None, text: str, *, follow: bool = False) -> Location:
    """Find where a path leads that a thread gives: relative to it, to a descriptor, or absolute.

    The directory's own symbolic links are always settled; the last component's only if asked.
    """
    if directory is None or directory & 0xFFFFFFFF == AT_FDCWD:
        base = f"/proc/{tid}/cwd"
    else:
        base = f"/proc/{tid}/fd/{directory & 0xFFFFFFFF}"
    if text.startswith("/proc/self/"):
        text = f"/proc/{tid}/" + text.removeprefix("/proc/self/")
    whole = os.path.join(base, text)  # noqa: PTH118 - an absolute text must win
    stripped = whole.rstrip("/")
    parent, name = os.path.split(os.path.realpath(stripped) if follow else stripped)
    return Location(directory=os.path.realpath(parent), name=name)


def held_file(tid: int, descriptor: int, wanted: Callable[[str], bool]) -> tuple[int, str] | None:
    """Get a handle of our own on an open file whose path is wanted, and that path.

    The handle opens nothing: it only keeps naming the same file, whatever the process does.
    """
    link = f"/proc/{tid}/fd/{descriptor & 0xFFFFFFFF}"
    try:
        path = os.readlink(link)  # noqa: PTH115 - hot, and no Path is wanted
        return (os.open(link, O_PATH | os.O_CLOEXEC), path) if wanted(path) else None
    except OSError:
        return None


def position(tid: int, descriptor: int) -> tuple[int, int]:
    """Read the file position of a descriptor, and the flags that it was opened with."""
    text = Path(f"/proc/{tid}/fdinfo/{descriptor & 0xFFFFFFFF}").read_text(encoding="ascii")
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return int(fields["pos"]), int(fields["flags"], 8)
