"""The few requests of ptrace(2) that the tracer needs, through ctypes.

Invariant: every request is made by the thread that attached, and a thread that is gone by then
(SIGKILL spares nobody) is reported as ``False`` rather than raised.

What to do at a stop is ``tracer``'s business.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

import attrs

__all__ = [
    "EVENT_EXEC",
    "EVENT_SECCOMP",
    "EVENT_STOP",
    "SYSCALL_STOP",
    "Call",
    "attach",
    "call_at_stop",
    "listen",
    "result_at_stop",
    "resume",
]

EVENT_EXEC = 4
EVENT_SECCOMP = 7
EVENT_STOP = 128
SYSCALL_STOP = 0x80 | 5

_CONT, _SYSCALL = 7, 24
_SEIZE, _LISTEN, _GET_SYSCALL_INFO = 0x4206, 0x4208, 0x420E
_TRACESYSGOOD, _FORK, _VFORK, _CLONE, _EXEC, _SECCOMP = 0x1, 0x2, 0x4, 0x8, 0x10, 0x80
_EXITKILL = 0x100000
_OPTIONS = _TRACESYSGOOD | _FORK | _VFORK | _CLONE | _EXEC | _SECCOMP | _EXITKILL

_INFO_EXIT, _INFO_SECCOMP = 2, 3
_INFO_SIZE = 88
_INFO_HEADER = 24


@attrs.frozen
class Call:
    """A system call that is about to happen: who makes it, its number and its arguments."""

    tid: int
    number: int = attrs.field(kw_only=True)
    arguments: tuple[int, ...] = attrs.field(kw_only=True)


def attach(pid: int) -> None:
    """Take a running process under control, and with it all that it will ever start.

    They all die with the thread that attached.
    """
    _request(_SEIZE, pid, 0, _OPTIONS)


def resume(tid: int, *, signal: int = 0, to_exit_of_call: bool = False) -> bool:
    """Let a stopped thread go on, to the end of its call or to its next stop."""
    return _unless_gone(_SYSCALL if to_exit_of_call else _CONT, tid, 0, signal)


def listen(tid: int) -> bool:
    """Leave a thread stopped by job control as it is, until somebody continues it."""
    return _unless_gone(_LISTEN, tid, 0, 0)


def call_at_stop(tid: int) -> Call | None:
    """Read the call that a thread stopped at before it happens. None: the thread is gone."""
    info = _info(tid)
    if info is None or info[0] != _INFO_SECCOMP:
        return None
    number, *arguments = struct.unpack_from("=7Q", info, _INFO_HEADER)
    return Call(tid, number=number, arguments=tuple(arguments))


def result_at_stop(tid: int) -> int | None:
    """Read what the call that just ended gave: negative means that it failed."""
    info = _info(tid)
    if info is None or info[0] != _INFO_EXIT:
        return None
    result: int = struct.unpack_from("=q", info, _INFO_HEADER)[0]
    return result


def _info(tid: int) -> bytes | None:
    buffer = ctypes.create_string_buffer(_INFO_SIZE)
    if not _unless_gone(_GET_SYSCALL_INFO, tid, _INFO_SIZE, ctypes.addressof(buffer)):
        return None
    return buffer.raw


def _unless_gone(request: int, tid: int, address: int, data: int) -> bool:
    try:
        _request(request, tid, address, data)
    except ProcessLookupError:
        return False
    return True


def _request(request: int, tid: int, address: int, data: int) -> None:
    if _libc().ptrace(request, tid, address, data) == -1:
        code = ctypes.get_errno()
        if code == errno.ESRCH:
            raise ProcessLookupError(code, os.strerror(code))
        raise OSError(code, f"ptrace request {request:#x}: {os.strerror(code)}")


_LIBC: list[ctypes.CDLL] = []


def _libc() -> ctypes.CDLL:
    if not _LIBC:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = [
            ctypes.c_long,
            ctypes.c_long,
            ctypes.c_void_p,
            ctypes.c_void_p,
        ]
        libc.ptrace.restype = ctypes.c_long
        _LIBC.append(libc)
    return _LIBC[0]
