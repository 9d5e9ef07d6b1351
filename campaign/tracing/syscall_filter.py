"""Which system calls touch a disk, their numbers, and the kernel filter that picks them out.

A seccomp program is built here that makes the kernel stop a traced thread at these calls and at
no other, so that everything else runs at full speed. Always: a call that could change a file
without being seen here (``io_uring``, kernel AIO, a foreign instruction set) is answered with
"not implemented", and programs fall back to calls that are seen.

Installing the filter is done by the child itself; reading the calls is ``_calls``'s business.
"""

from __future__ import annotations

import os
import platform
import struct

__all__ = ["FICLONE", "FICLONERANGE", "filter_program", "names", "supported"]

FICLONE = 0x40049409
FICLONERANGE = 0x4020940D

_O_TMPFILE = 0o20000000
_MAP_SHARED = 1
_PROT_WRITE = 2
_ENOSYS = 38

# name: (x86_64, aarch64); None where the architecture has no such call.
_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "write": (1, 64),
    "pwrite64": (18, 68),
    "writev": (20, 66),
    "pwritev": (296, 70),
    "pwritev2": (328, 287),
    "sendfile": (40, 71),
    "splice": (275, 76),
    "copy_file_range": (326, 285),
    "fallocate": (285, 47),
    "truncate": (76, 45),
    "ftruncate": (77, 46),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "sync": (162, 81),
    "syncfs": (306, 267),
    "creat": (85, None),
    "openat2": (437, 437),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "rmdir": (84, None),
    "link": (86, None),
    "linkat": (265, 37),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "open": (2, None),
    "openat": (257, 56),
    "mmap": (9, 222),
    "ioctl": (16, 29),
}
_REFUSED: dict[str, tuple[int, int]] = {"io_uring_setup": (425, 425), "io_setup": (206, 0)}

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_X32_BIT = 0x40000000

# Instructions of the classic BPF machine.
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _TRACE, _REFUSE = 0x7FFF0000, 0x7FF00000, 0x00050000 | _ENOSYS
_AT_NUMBER, _AT_ARCHITECTURE, _AT_ARGUMENTS = 0, 4, 16


def supported() -> bool:
    """Tell whether this machine's architecture has a table here."""
    return platform.machine() in _ARCHITECTURES


def names() -> dict[int, str]:
    """Give the name of each traced call by its number on this machine."""
    column, _ = _ARCHITECTURES[platform.machine()]
    numbered = {numbers[column]: name for name, numbers in _NUMBERS.items()}
    return {number: name for number, name in numbered.items() if number is not None}


def filter_program() -> bytes:
    """Build the seccomp program for this machine, as an array of ``sock_filter``."""
    column, architecture = _ARCHITECTURES[platform.machine()]
    program = [
        _instruction(_LOAD, _AT_ARCHITECTURE),
        *_unless(_JUMP_EQUAL, architecture, _REFUSE),
        _instruction(_LOAD, _AT_NUMBER),
    ]
    if column == 0:
        program += _when(_JUMP_AT_LEAST, _X32_BIT, [_instruction(_RETURN, _REFUSE)])
    for refused in _REFUSED.values():
        program += _when(_JUMP_EQUAL, refused[column], [_instruction(_RETURN, _REFUSE)])
    for number, name in names().items():
        program += _when(_JUMP_EQUAL, number, _decision(name))
    program.append(_instruction(_RETURN, _ALLOW))
    return b"".join(program)


def _decision(name: str) -> list[bytes]:
    trace, allow = _instruction(_RETURN, _TRACE), _instruction(_RETURN, _ALLOW)
    writing_flags = os.O_CREAT | os.O_TRUNC | _O_TMPFILE
    if name in {"open", "openat"}:
        flags = 1 if name == "open" else 2
        return [_argument(flags), *_when(_JUMP_SET, writing_flags, [trace]), allow]
    if name == "mmap":
        shared = [_argument(3), *_when(_JUMP_SET, _MAP_SHARED, [trace])]
        return [_argument(2), *_when(_JUMP_SET, _PROT_WRITE, shared), allow]
    if name == "ioctl":
        clones = [*_when(_JUMP_EQUAL, FICLONE, [trace]), *_when(_JUMP_EQUAL, FICLONERANGE, [trace])]
        return [_argument(1), *clones, allow]
    return [trace]


def _when(test: int, operand: int, then: list[bytes]) -> list[bytes]:
    return [_instruction(test, operand, if_true=0, if_false=len(then)), *then]


def _unless(test: int, operand: int, answer: int) -> list[bytes]:
    return [_instruction(test, operand, if_true=1, if_false=0), _instruction(_RETURN, answer)]


def _argument(index: int) -> bytes:
    """Load the low half of an argument: flags and file descriptors fit in it."""
    return _instruction(_LOAD, _AT_ARGUMENTS + 8 * index)


def _instruction(code: int, operand: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, operand)
