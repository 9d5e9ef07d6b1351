"""Install the kernel's filter in a process that is about to be traced.

It runs by its path in the child, before anything is imported, and uses the standard library only.
``follow`` (a descriptor) and ``program`` (hexadecimal) are globals that the parent sets.
"""

import ctypes
import os

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 38, 22
SECCOMP_MODE_FILTER = 2


class Program(ctypes.Structure):
    """``struct sock_fprog``."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def prctl(option: int, second: int, third: int = 0) -> None:
    """Set one option of the running process."""
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = [ctypes.c_ulong(each) for each in (second, third, 0, 0)]
    if libc.prctl(option, *arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl {option}: {os.strerror(code)}")


settings = globals()
os.read(settings["follow"], 1)  # the tracer has attached
code = bytes.fromhex(settings["program"])
buffer = ctypes.create_string_buffer(code, len(code))
described = Program(len(code) // 8, ctypes.addressof(buffer))
prctl(PR_SET_NO_NEW_PRIVS, 1)
prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(described))
