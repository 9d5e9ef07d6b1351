"""What a process did to the files below a root, as typed operations in the order it happened.

Invariant: files and directories are numbers that stay the same through renames and are never used
again for another file; a name is a directory's number and a last component. ``path`` is there
for people only. ``Mark`` and ``Passed`` are what the process said about itself in between.

How operations are seen is ``tracer``'s business; what a power cut makes of them, ``_model``'s.
"""

from __future__ import annotations

from typing import TypeAlias

import attrs

__all__ = [
    "Create",
    "Exchange",
    "Link",
    "Mark",
    "Mkdir",
    "Operation",
    "Passed",
    "Rename",
    "Symlink",
    "Sync",
    "SyncAll",
    "Truncate",
    "Unlink",
    "Write",
    "is_durable_operation",
    "kind_of",
]


@attrs.frozen(kw_only=True)
class Create:
    """A new, empty file got a name."""

    file: int
    directory: int
    name: str
    path: str

    def __str__(self) -> str:
        return f"create {self.path}"


@attrs.frozen(kw_only=True)
class Mkdir:
    """A new, empty directory got a name."""

    file: int
    directory: int
    name: str
    path: str

    def __str__(self) -> str:
        return f"mkdir {self.path}"


@attrs.frozen(kw_only=True)
class Symlink:
    """A new symbolic link got a name."""

    file: int
    directory: int
    name: str
    target: str
    path: str

    def __str__(self) -> str:
        return f"symlink {self.path}"


@attrs.frozen(kw_only=True)
class Link:
    """A file that exists got a further name."""

    file: int
    directory: int
    name: str
    path: str

    def __str__(self) -> str:
        return f"link {self.path}"


@attrs.frozen(kw_only=True)
class Unlink:
    """A name was removed: of a file, or of an empty directory."""

    directory: int
    name: str
    path: str

    def __str__(self) -> str:
        return f"unlink {self.path}"


@attrs.frozen(kw_only=True)
class Rename:
    """A name was replaced by another, over whatever had that name."""

    file: int
    directory: int
    name: str
    new_directory: int
    new_name: str
    path: str
    new_path: str

    def __str__(self) -> str:
        return f"rename {self.path} to {self.new_path}"


@attrs.frozen(kw_only=True)
class Exchange:
    """Two names changed places."""

    file: int
    directory: int
    name: str
    new_file: int
    new_directory: int
    new_name: str
    path: str
    new_path: str

    def __str__(self) -> str:
        return f"exchange {self.path} and {self.new_path}"


@attrs.frozen(kw_only=True)
class Write:
    """Bytes were written at an offset, and the file grew if they reach past its end."""

    file: int
    offset: int
    data: bytes = attrs.field(repr=lambda data: f"<{len(data)} bytes>")
    path: str

    def __str__(self) -> str:
        return f"write {self.path} [{self.offset}:{self.offset + len(self.data)}]"


@attrs.frozen(kw_only=True)
class Truncate:
    """A file was cut, or extended with zeros, to a size."""

    file: int
    size: int
    path: str

    def __str__(self) -> str:
        return f"truncate {self.path} to {self.size}"


@attrs.frozen(kw_only=True)
class Sync:
    """fsync, fdatasync, or a write that implies one: of a file or of a directory."""

    file: int
    path: str

    def __str__(self) -> str:
        return f"fsync {self.path}"


@attrs.frozen(kw_only=True)
class SyncAll:
    """The whole file system was synced."""

    path: str

    def __str__(self) -> str:
        return "sync"


@attrs.frozen(kw_only=True)
class Mark:
    """The process said that it had come so far: ``mark("acknowledged 5")``."""

    text: str
    path: str = ""

    def __str__(self) -> str:
        return f"mark {self.text!r}"


@attrs.frozen(kw_only=True)
class Passed:
    """The process passed a failpoint."""

    point: str
    path: str = ""

    def __str__(self) -> str:
        return f"failpoint {self.point}"


Operation: TypeAlias = (
    Create
    | Mkdir
    | Symlink
    | Link
    | Unlink
    | Rename
    | Exchange
    | Write
    | Truncate
    | Sync
    | SyncAll
    | Mark
    | Passed
)


def kind_of(operation: Operation) -> str:
    """Name the kind of an operation: ``write``, ``rename`` and so on."""
    return type(operation).__name__.lower()


def is_durable_operation(operation: Operation) -> bool:
    """Tell whether it is about files: marks and failpoints are not."""
    return not isinstance(operation, Mark | Passed)
