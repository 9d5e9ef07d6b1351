"""One lock for a directory, which the kernel releases when its holder dies.

Always: two holders exclude each other, threads of one process included; a holder that was killed
blocks nobody; those who wait get it in the order in which they came. The lock file is never removed
by us, so all meet at the same one. If somebody else removes it, a waiter notices that what it
locked is no longer the file of that name, and locks the new one. Waiting ends: after ``patience``
seconds ``StoreUnavailable`` says who blocks.

A process that forks while it holds the lock does not hand it on: the child closes its copy.
On NFS the lock is the server's, and as good as that.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from omnigraph_l1._places.failures import storage_failure
from omnigraph_l1.errors import StoreUnavailable, UnsafeStore

__all__ = ["directory_lock", "locks_exclude"]

_NOT_SUPPORTED = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}
_held: set[int] = set()


def _close_in_child() -> None:
    for descriptor in _held:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_close_in_child)


@contextlib.contextmanager
def directory_lock(path: Path, *, patience: float) -> Iterator[None]:
    """Hold the lock whose file is ``path``. Its directory must be there."""
    try:
        descriptor = _locked(path, time.monotonic() + patience, patience)
    except OSError as error:
        raise storage_failure(error, str(path.parent)) from error
    made_in = os.getpid()
    try:
        yield
    finally:
        if os.getpid() == made_in:
            # Said aloud, because a forked child may still have the descriptor open.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            _held.discard(descriptor)
            os.close(descriptor)


def locks_exclude(path: Path, *, patience: float) -> bool:
    """Tell whether a second lock is refused while a first is held."""
    with directory_lock(path, patience=patience):
        second = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            return not _try(second, path)
        finally:
            os.close(second)


def _locked(path: Path, deadline: float, patience: float) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        _held.add(descriptor)
        try:
            held = _try(descriptor, path) or _wait(descriptor, path, deadline - time.monotonic())
        except BaseException:
            _let_go(descriptor)
            raise
        if not held:
            _let_go(descriptor)
            detail = f"the lock {path} was held by another process for {patience:g} s"
            raise StoreUnavailable(place=str(path.parent), detail=detail)
        if _is_still(path, descriptor):
            return descriptor
        _let_go(descriptor)


def _let_go(descriptor: int) -> None:
    _held.discard(descriptor)
    os.close(descriptor)


def _wait(descriptor: int, path: Path, seconds: float) -> bool:
    """Queue up in the kernel, which is fair, for some time; False where that is over.

    A thread waits, because a blocking call cannot be ended. It has a second descriptor of the same
    open file, and the lock lasts as long as either: whoever gives up closes his own, and what the
    thread then gets is let go with the other.
    """
    if seconds <= 0:
        return False
    done = threading.Event()
    failures: list[OSError] = []
    second = os.dup(descriptor)
    _held.add(second)

    def queue_up() -> None:
        try:
            fcntl.flock(second, fcntl.LOCK_EX)
        except OSError as error:
            failures.append(error)
        done.set()
        _let_go(second)

    threading.Thread(target=queue_up, name=f"waits for {path.name}", daemon=True).start()
    in_time = done.wait(min(seconds, threading.TIMEOUT_MAX))
    if failures:
        raise failures[0]
    return in_time


def _try(descriptor: int, path: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NOT_SUPPORTED:
            detail = f"its file system has no locks ({error.strerror})"
            raise UnsafeStore(place=str(path.parent), detail=detail) from error
        raise
    return True


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))  # noqa: PTH116
    except FileNotFoundError:
        return False
