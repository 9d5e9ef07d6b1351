"""Refs as files of a local directory, atomic between processes, and the lock of a directory.

Invariants of the refs:

* A document is written to the side, flushed, and only then given its name, by ``rename`` or, where
  nothing may stand there yet, by ``link``: a reader, who takes no lock, sees the old document or
  the new one, whole, whatever dies.
* Comparing and writing happen under one lock for the directory (``directory_lock``).
* Files at the side exist only while that lock is held. Its holder therefore knows that each
  one it finds there was left by a writer that was killed, and removes it.
* With ``durability="full"`` a change that was acknowledged survives a power cut: the file was
  flushed before it got its name, and the directory before the call returns. One that is visible
  but could not be flushed is ``ReplyLost``, never an error that says "not done".

``.lock`` and ``.side/`` in the directory are ours; no ref has such a file name.

Invariants of the lock, which the kernel releases when its holder dies:

* Two holders exclude each other, threads of one process included. A holder that was killed blocks
  no other process. Those that wait get the lock in the order in which they came.
* The lock file is never removed by us, so all meet at the same one. If another program removes it,
  a waiter notices that what it locked is no longer the file of that name, and locks the new one.
* Waiting ends: after ``patience`` seconds ``StoreUnavailable`` says who blocks. A stopped holder is
  not overtaken, because it could go on in the middle of its change.
* A process that forks while it holds the lock does not hand it on: the child closes its copy.

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
from contextlib import AbstractContextManager, ExitStack
from datetime import datetime, timezone
from pathlib import Path

from omnigraph_l1._refs.ref_backend import ConditionFailed, LockTimeout, ReplyLost, Stored
from omnigraph_l1._refs.ref_document import SUFFIX, digest
from omnigraph_l1._storage.store_failures import Failure, failure_kind, to_storage_error
from omnigraph_l1._storage.stored_objects import (
    check_directories,
    open_contained,
    read_contained,
    sync_directories,
    sync_with_parents,
)
from omnigraph_l1._text_encoding import new_ulid
from omnigraph_l1.deadlines import LOCK_SECONDS, wait_seconds
from omnigraph_l1.errors import StorageError, StoreUnavailable, UnsafeStore
from omnigraph_l1.failpoints import declare, failpoint

__all__ = ["LocalBackend", "directory_lock"]

_LOCK, _SIDE = ".lock", ".side"
_SETTLED_SECONDS = 2.0
"""Clocks of file systems tick as slowly as that."""
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}

_MAYBE_DONE = {Failure.UNAVAILABLE, Failure.OTHER}

_LOCKED = declare("refs.local.locked", "The directory's lock is held, nothing is done yet.")
_HALF = declare("refs.local.half_written", "Half of the document is at the side.")
_STAGED = declare("refs.local.staged", "The document is whole, flushed, and at the side.")
_NAMED = declare("refs.local.named", "The document has its name; the lock is still held.")
_REMOVED = declare("refs.local.removed", "The document is removed; the lock is still held.")
_SETTLED = declare("refs.local.settled", "The change is flushed, and about to be acknowledged.")


class LocalBackend:
    """A directory on local disk, made when something is first written to it."""

    keeps_tombstones = False
    attempts = 3
    seconds = 10.0

    def __init__(
        self, root: Path, below: str, *, flush: bool, patience: float = LOCK_SECONDS
    ) -> None:
        self._root = root
        self._directory = root / below if below else root
        self._flush = flush
        self._parents_flushed = False
        self._patience = patience

    def read(self, file_name: str) -> Stored | None:
        """Read the file, without a lock."""
        try:
            self._check_directory()
            data = read_contained(self._directory / file_name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._failure(error) from error
        return Stored(data, digest(data))

    def write(self, file_name: str, data: bytes, expected: str | None) -> str:
        """Compare, then put the new document in place, under the lock."""
        target = self._directory / file_name
        tried = named = False
        try:
            self._make_directory()
            with ExitStack() as held:
                try:
                    held.enter_context(self._lock())
                except StoreUnavailable as error:
                    raise LockTimeout(error) from error
                failpoint(_LOCKED)
                self._compare(file_name, expected)
                side = self._write_to_the_side(data)
                try:
                    failpoint(_STAGED)
                    tried = True
                    _give_name(side, target, replace=expected is not None)
                    named = True
                    failpoint(_NAMED)
                finally:
                    with contextlib.suppress(OSError):
                        side.unlink()
            self._settle()
        except OSError as error:
            raise self._to_write_error(error, tried=tried, visible=named) from error
        return digest(data)

    def remove(self, file_name: str, expected: str) -> None:
        """Compare, then remove the file, under the lock."""
        removed = False
        try:
            self._check_directory()
            if not self._directory.is_dir():
                raise ConditionFailed
            with self._lock():
                failpoint(_LOCKED)
                self._compare(file_name, expected)
                (self._directory / file_name).unlink()
                removed = True
                failpoint(_REMOVED)
            self._settle()
        except OSError as error:
            raise self._to_write_error(error, tried=removed, visible=removed) from error

    def marks(self) -> dict[str, str | None]:
        """Return the files of refs; none if the directory does not exist."""
        return {name: None if facts is None else _mark(facts) for name, facts in self._facts()}

    def ages(self) -> dict[str, datetime]:
        """Return when each file was last written, by the clock of the file system."""
        return {
            name: datetime.fromtimestamp(facts.st_mtime, timezone.utc)
            for name, facts in self._facts()
            if facts is not None
        }

    def _facts(self) -> list[tuple[str, os.stat_result | None]]:
        try:
            self._check_directory()
            with os.scandir(self._directory) as entries:
                return [(each.name, _stat(each)) for each in entries if each.name.endswith(SUFFIX)]
        except OSError as error:
            if failure_kind(error) is Failure.ABSENT:
                return []
            raise self._failure(error) from error

    def probe(self) -> None:
        """Find out whether the file system has locks that exclude."""
        try:
            self._make_directory()
            excluded = locks_exclude(self._directory / _LOCK)
        except OSError as error:
            raise self._failure(error) from error
        if not excluded:
            detail = "its file system grants one lock to two holders"
            raise UnsafeStore(location=str(self._directory), detail=detail)

    def _lock(self) -> AbstractContextManager[None]:
        return directory_lock(self._directory / _LOCK, patience=wait_seconds(self._patience))

    def _compare(self, file_name: str, expected: str | None) -> None:
        found = self.read(file_name)
        if (None if found is None else found.token) != expected:
            raise ConditionFailed

    def _write_to_the_side(self, data: bytes) -> Path:
        """Write a file that has no name of a ref yet, and remove what the dead left there."""
        aside = self._directory / _SIDE
        check_directories(self._directory, [_SIDE])
        aside.mkdir(exist_ok=True)
        with os.scandir(aside) as left:
            for entry in left:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(entry.path)  # noqa: PTH108
        side = aside / new_ulid()
        descriptor = os.open(side, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            half = len(data) // 2
            _write_all(descriptor, data[:half])
            failpoint(_HALF)
            _write_all(descriptor, data[half:])
            if self._flush:
                os.fsync(descriptor)
        except BaseException:
            with contextlib.suppress(OSError):
                side.unlink()
            raise
        finally:
            os.close(descriptor)
        return side

    def _check_directory(self) -> None:
        below = self._directory.relative_to(self._root).as_posix()
        if below != ".":
            check_directories(self._root, [below])

    def _make_directory(self) -> None:
        self._check_directory()
        missing: list[Path] = []
        directory = self._directory
        while not directory.is_dir():
            missing.append(directory)
            directory = directory.parent
        if missing:
            self._directory.mkdir(parents=True, exist_ok=True)
            if self._flush:
                sync_directories(path.parent for path in missing)

    def _settle(self) -> None:
        if self._flush and self._parents_flushed:
            sync_directories([self._directory])
        elif self._flush:
            # Another process may have made them a moment ago, and may not have come to flush them.
            sync_with_parents(self._directory, self._root)
            self._parents_flushed = True
        failpoint(_SETTLED)

    def _to_write_error(self, error: OSError, *, tried: bool, visible: bool) -> Exception:
        failure = self._failure(error)
        if visible:
            return ReplyLost(failure, look=False)
        # A file server may have renamed, and lost its reply.
        return ReplyLost(failure) if tried and failure_kind(error) in _MAYBE_DONE else failure

    def _failure(self, error: OSError) -> StorageError:
        return to_storage_error(error, str(self._directory))


def _stat(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat()
    except FileNotFoundError:
        return None


def _mark(facts: os.stat_result) -> str | None:
    """Mark a file by its facts, once it is so old that no later one can have the same times."""
    if time.time() - facts.st_ctime < _SETTLED_SECONDS:
        return None
    return f"{facts.st_ino} {facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns}"


def _give_name(side: Path, target: Path, *, replace: bool) -> None:
    if replace:
        side.rename(target)
        return
    try:
        os.link(side, target)
    except FileExistsError:
        # A program that does not use the lock wrote it.
        raise ConditionFailed from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        side.rename(target)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


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
        descriptor = _acquire(path, time.monotonic() + patience, patience)
    except OSError as error:
        raise to_storage_error(error, str(path.parent)) from error
    made_in = os.getpid()
    try:
        yield
    finally:
        if os.getpid() == made_in:
            # Said aloud, because a forked child may still have the descriptor open.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            _held.discard(descriptor)
            os.close(descriptor)


def locks_exclude(path: Path) -> bool:
    """Return whether a second lock is refused while a first is held, by whatever process."""
    first, second = _open_lock(path), _open_lock(path)
    try:
        return not (_try_lock(first, path) and _try_lock(second, path))
    finally:
        _release(first)
        _release(second)


def _open_lock(path: Path) -> int:
    descriptor = open_contained(path, os.O_RDWR | os.O_CREAT)
    _held.add(descriptor)
    return descriptor


def _acquire(path: Path, deadline: float, patience: float) -> int:
    while True:
        descriptor = _open_lock(path)
        try:
            held = _try_lock(descriptor, path) or _wait(
                descriptor, path, deadline - time.monotonic()
            )
        except BaseException:
            _release(descriptor)
            raise
        if not held:
            _release(descriptor)
            detail = f"the lock {path} was held by another process for {patience:g} s"
            raise StoreUnavailable(location=str(path.parent), detail=detail)
        if _is_same_file(path, descriptor):
            return descriptor
        _release(descriptor)


def _release(descriptor: int) -> None:
    _held.discard(descriptor)
    os.close(descriptor)


def _wait(descriptor: int, path: Path, seconds: float) -> bool:
    """Queue up in the kernel, which is fair, for some time; False where that is over.

    A thread waits, because a blocking call cannot be ended. It has a second descriptor of the same
    open file, and the lock lasts as long as either: a process that gives up closes its own, and
    what the thread then gets is let go with the other.
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
        _release(second)

    threading.Thread(target=queue_up, name=f"waits for {path.name}", daemon=True).start()
    in_time = done.wait(min(seconds, threading.TIMEOUT_MAX))
    if failures:
        raise failures[0]
    return in_time


def _try_lock(descriptor: int, path: Path) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NOT_SUPPORTED:
            detail = f"its file system has no locks ({error.strerror})"
            raise UnsafeStore(location=str(path.parent), detail=detail) from error
        raise
    return True


def _is_same_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))  # noqa: PTH116
    except FileNotFoundError:
        return False
