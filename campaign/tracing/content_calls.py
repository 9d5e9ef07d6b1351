"""Calls that change what is in a file: write and its kin, truncate, fallocate, clone, fsync.

A call is looked at twice: before it happens (which file, at which offset) and after (how many
bytes). Always: the bytes are read from the file itself after the call, so that it does not matter
from where the process took them; nobody else's traced call runs in between.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import attrs

from campaign.tracing.file_identities import Identities
from campaign.tracing.file_operations import Operation, Sync, SyncAll, Truncate, Write
from campaign.tracing.pending_call import Begun
from campaign.tracing.ptrace import Call
from campaign.tracing.syscall_filter import FICLONE, FICLONERANGE
from campaign.tracing.tracee import (
    O_PATH,
    held_file,
    locate,
    position,
    read_number,
    read_string,
)
from campaign.tracing.tracing_errors import Untraceable

__all__ = ["READERS", "content_of"]

_O_DSYNC = 0o10000
_RWF_SYNC = 0x2 | 0x4
_RWF_APPEND = 0x10
_FALLOC_KEEP_SIZE = 1
_MINUS_ONE = 0xFFFFFFFFFFFFFFFF


@attrs.frozen(kw_only=True)
class _Target:
    """The file a call is about, held open until it is over."""

    handle: int
    path: str
    number: int


def content_of(handle: int, offset: int = 0, length: int | None = None) -> bytes:
    """Read bytes of a file that is held."""
    descriptor = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        wanted = os.fstat(descriptor).st_size - offset if length is None else length
        found = b""
        while len(found) < wanted:
            piece = os.pread(descriptor, wanted - len(found), offset + len(found))
            if not piece:
                break
            found += piece
    finally:
        os.close(descriptor)
    return found


def _target(call: Call, descriptor: int, files: Identities) -> _Target | None:
    held = held_file(call.tid, descriptor, files.contains)
    if held is None:
        return None
    handle, path = held
    return _Target(handle=handle, path=path, number=files.of(os.fstat(handle), path))


def _write(call: Call, name: str, files: Identities) -> Begun | None:
    arguments = call.arguments
    descriptor = arguments[2] if name in {"splice", "copy_file_range"} else arguments[0]
    target = _target(call, descriptor, files)
    if target is None:
        return None
    offset, flags = position(call.tid, descriptor)
    extra = arguments[5] if name == "pwritev2" else 0
    synced = bool(flags & _O_DSYNC or extra & _RWF_SYNC)
    if flags & os.O_APPEND or extra & _RWF_APPEND:
        offset = os.fstat(target.handle).st_size
    else:
        offset = _where(call, name, offset)

    def finish(result: int) -> list[Operation]:
        data = content_of(target.handle, offset, result)
        done: list[Operation] = []
        if data:
            done.append(Write(file=target.number, offset=offset, data=data, path=target.path))
        if synced:
            done.append(Sync(file=target.number, path=target.path))
        return done

    return Begun("write", path=target.path, finish=finish, handle=target.handle)


def _where(call: Call, name: str, current: int) -> int:
    if name in {"pwrite64", "pwritev"}:
        return call.arguments[3]
    if name == "pwritev2":
        return current if call.arguments[3] == _MINUS_ONE else call.arguments[3]
    if name in {"splice", "copy_file_range"} and call.arguments[3]:
        return read_number(call.tid, call.arguments[3])
    return current


def _truncate(call: Call, name: str, files: Identities) -> Begun | None:
    if name == "ftruncate":
        target = _target(call, call.arguments[0], files)
    else:
        place = locate(call.tid, None, read_string(call.tid, call.arguments[0]), follow=True)
        if not files.contains(place.path) or not os.path.exists(place.path):  # noqa: PTH110
            return None
        handle = os.open(place.path, O_PATH | os.O_CLOEXEC)
        target = _Target(handle=handle, path=place.path, number=files.at(place.path))
    if target is None:
        return None
    found, size = target, call.arguments[1]

    def finish(_result: int) -> list[Operation]:
        return [Truncate(file=found.number, size=size, path=found.path)]

    return Begun("truncate", path=found.path, finish=finish, handle=found.handle)


def _fallocate(call: Call, _name: str, files: Identities) -> Begun | None:
    target = _target(call, call.arguments[0], files)
    if target is None:
        return None
    plain = call.arguments[1] & ~_FALLOC_KEEP_SIZE == 0
    size_before = os.fstat(target.handle).st_size

    def finish(_result: int) -> list[Operation]:
        size = os.fstat(target.handle).st_size
        if not plain:
            return _rewritten(target)
        if size == size_before:
            return []
        return [Truncate(file=target.number, size=size, path=target.path)]

    return Begun("truncate", path=target.path, finish=finish, handle=target.handle)


def _clone(call: Call, _name: str, files: Identities) -> Begun | None:
    if call.arguments[1] not in {FICLONE, FICLONERANGE}:
        return None
    target = _target(call, call.arguments[0], files)
    if target is None:
        return None

    def finish(_result: int) -> list[Operation]:
        return _rewritten(target)

    return Begun("write", path=target.path, finish=finish, handle=target.handle)


def _rewritten(target: _Target) -> list[Operation]:
    data = content_of(target.handle)
    return [
        Truncate(file=target.number, size=len(data), path=target.path),
        Write(file=target.number, offset=0, data=data, path=target.path),
    ]


def _sync(call: Call, _name: str, files: Identities) -> Begun | None:
    target = _target(call, call.arguments[0], files)
    if target is None:
        return None

    def finish(_result: int) -> list[Operation]:
        return [Sync(file=target.number, path=target.path)]

    return Begun("sync", path=target.path, finish=finish, handle=target.handle)


def _sync_all(_call: Call, _name: str, files: Identities) -> Begun | None:
    def finish(_result: int) -> list[Operation]:
        return [SyncAll(path=files.root)]

    return Begun("syncall", path=files.root, finish=finish)


def _map(call: Call, _name: str, files: Identities) -> Begun | None:
    target = _target(call, call.arguments[4], files)
    if target is not None:
        os.close(target.handle)
        reason = "it is mapped for writing, and what is written through memory is not seen"
        raise Untraceable(path=target.path, reason=reason)
    return None


READERS: dict[str, Callable[[Call, str, Identities], Begun | None]] = {
    **dict.fromkeys(
        ("write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "splice"), _write
    ),
    "copy_file_range": _write,
    "truncate": _truncate,
    "ftruncate": _truncate,
    "fallocate": _fallocate,
    "ioctl": _clone,
    "fsync": _sync,
    "fdatasync": _sync,
    "sync": _sync_all,
    "syncfs": _sync_all,
    "mmap": _map,
}
