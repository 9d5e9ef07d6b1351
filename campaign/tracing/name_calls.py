"""Calls that give, move and take names: open for create, mkdir, link, rename, unlink and kin.

A call is looked at twice, before and after. Always: what a name stood for is read before the
call, the number of what was created after it, and a call that changes nothing (an open of a file
that is there) is no operation.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

import attrs

from campaign.tracing.file_identities import Identities
from campaign.tracing.file_operations import (
    Create,
    Exchange,
    Link,
    Mkdir,
    Operation,
    Rename,
    Symlink,
    Truncate,
    Unlink,
)
from campaign.tracing.pending_call import Begun
from campaign.tracing.ptrace import Call
from campaign.tracing.tracee import Location, locate, read_number, read_string

__all__ = ["READERS"]

_O_TMPFILE = 0o20000000
_AT_EMPTY_PATH = 0x1000
_AT_SYMLINK_FOLLOW = 0x400
_RENAME_EXCHANGE = 2

# Which arguments hold the directory (None: the working directory), and the path.
_PLACES: dict[str, tuple[int | None, int]] = {
    "open": (None, 0),
    "creat": (None, 0),
    "openat": (0, 1),
    "openat2": (0, 1),
    "mknod": (None, 0),
    "mknodat": (0, 1),
    "mkdir": (None, 0),
    "mkdirat": (0, 1),
    "rmdir": (None, 0),
    "unlink": (None, 0),
    "unlinkat": (0, 1),
    "symlink": (None, 1),
    "symlinkat": (1, 2),
}
_PAIRS: dict[str, tuple[int | None, int, int | None, int]] = {
    "rename": (None, 0, None, 1),
    "renameat": (0, 1, 2, 3),
    "renameat2": (0, 1, 2, 3),
    "link": (None, 0, None, 1),
    "linkat": (0, 1, 2, 3),
}


def _place(call: Call, where: tuple[int | None, int], *, follow: bool = False) -> Location:
    directory = None if where[0] is None else call.arguments[where[0]]
    text = read_string(call.tid, call.arguments[where[1]])
    return locate(call.tid, directory, text, follow=follow)


def _open_flags(call: Call, name: str) -> int:
    if name == "creat":
        return os.O_CREAT | os.O_TRUNC
    if name == "openat2":
        return read_number(call.tid, call.arguments[2])
    return call.arguments[1 if name == "open" else 2]


def _open(call: Call, name: str, files: Identities) -> Begun | None:
    flags = _open_flags(call, name)
    place = _place(call, _PLACES[name], follow=not flags & (os.O_EXCL | os.O_NOFOLLOW))
    if flags & _O_TMPFILE and files.contains(place.path):
        return Begun("create", path=place.path, finish=lambda fd: _unnamed(call, fd, files))
    if not files.contains(place.directory):
        return None
    before = _stat(place.path)
    if before is None and not flags & os.O_CREAT:
        return None
    if before is None:
        return Begun("create", path=place.path, finish=lambda _fd: _created(place, files))
    if not flags & os.O_TRUNC or before.st_size == 0 or not stat.S_ISREG(before.st_mode):
        return None
    cut = Truncate(file=files.of(before, place.path), size=0, path=place.path)
    return Begun("truncate", path=place.path, finish=lambda _fd: [cut])


def _unnamed(call: Call, descriptor: int, files: Identities) -> list[Operation]:
    files.new(os.stat(f"/proc/{call.tid}/fd/{descriptor}"))  # noqa: PTH116 - a link of the kernel's
    return []


def _created(place: Location, files: Identities) -> list[Operation]:
    number = files.new(os.lstat(place.path))
    directory = files.at(place.directory)
    return [Create(file=number, directory=directory, name=place.name, path=place.path)]


def _node(call: Call, name: str, files: Identities) -> Begun | None:
    place = _place(call, _PLACES[name])
    kind = call.arguments[1 if name == "mknod" else 2] & 0o170000
    if not files.contains(place.directory) or kind not in {0, stat.S_IFREG}:
        return None
    return Begun("create", path=place.path, finish=lambda _: _created(place, files))


def _mkdir(call: Call, name: str, files: Identities) -> Begun | None:
    place = _place(call, _PLACES[name])
    if not files.contains(place.directory):
        return None

    def finish(_result: int) -> list[Operation]:
        number = files.new(os.lstat(place.path))
        directory = files.at(place.directory)
        return [Mkdir(file=number, directory=directory, name=place.name, path=place.path)]

    return Begun("mkdir", path=place.path, finish=finish)


def _symlink(call: Call, name: str, files: Identities) -> Begun | None:
    place = _place(call, _PLACES[name])
    if not files.contains(place.directory):
        return None
    target = read_string(call.tid, call.arguments[0])

    def finish(_result: int) -> list[Operation]:
        link = Symlink(
            file=files.new(os.lstat(place.path)),
            directory=files.at(place.directory),
            name=place.name,
            target=target,
            path=place.path,
        )
        return [link]

    return Begun("symlink", path=place.path, finish=finish)


def _unlink(call: Call, name: str, files: Identities) -> Begun | None:
    place = _place(call, _PLACES[name])
    return _removal(place, files) if files.contains(place.directory) else None


def _removal(place: Location, files: Identities, *, forget: bool = False) -> Begun | None:
    before = _stat(place.path)
    if before is None:
        return None

    def finish(_result: int) -> list[Operation]:
        if forget and before.st_nlink == 1:
            files.forget(before)
        directory = files.at(place.directory)
        return [Unlink(directory=directory, name=place.name, path=place.path)]

    return Begun("unlink", path=place.path, finish=finish)


def _link(call: Call, name: str, files: Identities) -> Begun | None:
    _, _, directory_at, path_at = _PAIRS[name]
    place = _place(call, (directory_at, path_at))
    if not files.contains(place.directory):
        return None

    def finish(_result: int) -> list[Operation]:
        found = os.lstat(place.path)
        if not files.knows(found):
            return files.adopt(place, name_it=True)
        directory = files.at(place.directory)
        number = files.of(found, place.path)
        return [Link(file=number, directory=directory, name=place.name, path=place.path)]

    return Begun("link", path=place.path, finish=finish)


def _rename(call: Call, name: str, files: Identities) -> Begun | None:
    old_directory, old_path, new_directory, new_path = _PAIRS[name]
    old = _place(call, (old_directory, old_path))
    new = _place(call, (new_directory, new_path))
    if not files.contains(old.directory) and not files.contains(new.directory):
        return None
    if not files.contains(new.directory):
        return _removal(old, files, forget=True)  # it lives on where nobody looks
    if not files.contains(old.directory):
        return Begun("rename", path=new.path, finish=lambda _: files.adopt(new, name_it=True))
    return _move(old, new, files, swap=_swaps(call, name))


def _swaps(call: Call, name: str) -> bool:
    return name == "renameat2" and bool(call.arguments[4] & _RENAME_EXCHANGE)


def _move(old: Location, new: Location, files: Identities, *, swap: bool) -> Begun | None:
    source, target = _stat(old.path), _stat(new.path)
    if source is None or (target is not None and os.path.samestat(source, target)):
        return None
    number = files.of(source, old.path)
    other = files.of(target, new.path) if swap and target is not None else 0
    from_directory = files.at(old.directory)

    def finish(_result: int) -> list[Operation]:
        move = Rename(
            file=number,
            directory=from_directory,
            name=old.name,
            new_directory=files.at(new.directory),
            new_name=new.name,
            path=old.path,
            new_path=new.path,
        )
        if not swap:
            return [move]
        return [Exchange(**attrs.asdict(move), new_file=other)]

    return Begun("exchange" if swap else "rename", path=new.path, finish=finish)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


READERS: dict[str, Callable[[Call, str, Identities], Begun | None]] = {
    **dict.fromkeys(("open", "openat", "openat2", "creat"), _open),
    **dict.fromkeys(("mknod", "mknodat"), _node),
    **dict.fromkeys(("mkdir", "mkdirat"), _mkdir),
    **dict.fromkeys(("symlink", "symlinkat"), _symlink),
    **dict.fromkeys(("unlink", "unlinkat", "rmdir"), _unlink),
    **dict.fromkeys(("link", "linkat"), _link),
    **dict.fromkeys(("rename", "renameat", "renameat2"), _rename),
}
