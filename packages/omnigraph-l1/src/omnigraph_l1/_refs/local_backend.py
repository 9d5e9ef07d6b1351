"""Refs as files of a local directory, atomic between processes, and the lock of a directory.

Invariants of the refs:

* A document is written to the side, flushed, and only then given its name, by ``rename`` or, where
  nothing may stand there yet, by ``link``: a reader, who takes no lock, sees the old document or
  the new one, whole, whatever dies.
* A document is replaced or removed only by the holder of the lock of its own file, who found after
  it got the lock that the file still has the name, and that it is the expected one. Its change is
  the last thing that it does: then another file has the name, with a lock of its own. ``link`` is
  a compare-and-set by itself, so that creating takes no lock.
* So a process that is stopped in the middle of a change blocks changes of that one document, and
  nothing else.
* A writer holds the lock of its file at the side. One whose lock is free was left by a writer
  that was killed, and the next writer in the directory removes it.
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
from datetime import datetime, timezone
from pathlib import Path

import attrs

from omnigraph_l1._refs.ref_backend import ConditionFailed, ReplyLost, Stored
from omnigraph_l1._refs.ref_document import SUFFIX, digest
from omnigraph_l1._storage.contained_paths import (
    check_directories,
    open_contained,
    read_contained,
)
from omnigraph_l1._storage.store_failures import Failure, failure_kind, to_storage_error
from omnigraph_l1._storage.stored_objects import sync_directories, sync_with_parents
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


@attrs.define
class _Progress:
    """How far a change came, for the error that says whether it may have happened."""

    tried: bool = False
    visible: bool = False


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
        """Put the new document in place if the one that is there is the expected one."""
        target = self._directory / file_name
        progress = _Progress()
        try:
            self._make_directory()
            aside = self._clear_side()
            with contextlib.ExitStack() as held:
                if expected is not None:
                    held.enter_context(self._lock_document(file_name, expected))
                side = held.enter_context(self._write_to_the_side(aside, data))
                failpoint(_STAGED)
                progress.tried = True
                if expected is None:
                    self._create(side, target)
                else:
                    side.rename(target)
                progress.visible = True
                failpoint(_NAMED)
            self._settle()
        except OSError as error:
            raise self._to_write_error(error, progress) from error
        return digest(data)

    def remove(self, file_name: str, expected: str) -> None:
        """Remove the document if it is the expected one."""
        progress = _Progress()
        try:
            self._check_directory()
            with self._lock_document(file_name, expected):
                (self._directory / file_name).unlink()
                progress.visible = True
                failpoint(_REMOVED)
            self._settle()
        except OSError as error:
            raise self._to_write_error(error, progress) from error

    @contextlib.contextmanager
    def _lock_document(self, file_name: str, expected: str) -> Iterator[None]:
        """Hold the lock of the file that has this name, and raise if it is not as expected."""
        with contextlib.ExitStack() as held:
            patience = min(self._patience, wait_seconds(self._patience))
            try:
                held.enter_context(_lock(self._directory / file_name, os.O_RDWR, patience))
            except (FileNotFoundError, NotADirectoryError):
                raise ConditionFailed from None
            failpoint(_LOCKED)
            self._compare(file_name, expected)
            yield

    def _create(self, side: Path, target: Path) -> None:
        try:
            os.link(side, target)
        except FileExistsError:
            raise ConditionFailed from None
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            with directory_lock(self._directory / _LOCK, patience=self._patience):
                self._compare(target.name, None)
                side.rename(target)

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

    def _compare(self, file_name: str, expected: str | None) -> None:
        found = self.read(file_name)
        if (None if found is None else found.token) != expected:
            raise ConditionFailed

    def _clear_side(self) -> Path:
        """Return the folder at the side, without files of the dead.

        Before a document is locked: it may be such a file, if its creator died before it had
        removed the other name.
        """
        aside = self._directory / _SIDE
        check_directories(self._directory, [_SIDE])
        aside.mkdir(exist_ok=True)
        _sweep(aside)
        return aside

    @contextlib.contextmanager
    def _write_to_the_side(self, aside: Path, data: bytes) -> Iterator[Path]:
        """Write a file that has no name of a ref yet, and hold its lock: its writer is alive."""
        side, descriptor = _new_file(aside)
        try:
            half = len(data) // 2
            _write_all(descriptor, data[:half])
            failpoint(_HALF)
            _write_all(descriptor, data[half:])
            if self._flush:
                os.fsync(descriptor)
            yield side
        finally:
            with contextlib.suppress(OSError):
                side.unlink()
            _release(descriptor)

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

    def _to_write_error(self, error: OSError, progress: _Progress) -> Exception:
        failure = self._failure(error)
        if progress.visible:
            return ReplyLost(failure, look=False)
        # A file server may have renamed, and lost its reply.
        maybe_done = progress.tried and failure_kind(error) in _MAYBE_DONE
        return ReplyLost(failure) if maybe_done else failure

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


def _new_file(folder: Path) -> tuple[Path, int]:
    """Make a file of which this process holds the lock, so that a sweep leaves it alone."""
    while True:
        path = folder / new_ulid()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        _held.add(descriptor)
        try:
            if _try_lock(descriptor, path) and _is_same_file(path, descriptor):
                return path, descriptor
        except BaseException:
            _release(descriptor)
            raise
        _release(descriptor)  # a sweep came in between, and removes it


def _sweep(folder: Path) -> None:
    """Remove the files of writers that were killed: no process holds their locks."""
    with os.scandir(folder) as left:
        for entry in left:
            with contextlib.suppress(FileNotFoundError, ConditionFailed):
                descriptor = _open_lock(Path(entry.path), os.O_RDWR)
                try:
                    if _try_lock(descriptor, folder):
                        os.unlink(entry.path)  # noqa: PTH108
                finally:
                    _release(descriptor)


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
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(_lock(path, os.O_RDWR | os.O_CREAT, patience))
        except OSError as error:
            raise to_storage_error(error, str(path.parent)) from error
        yield


@contextlib.contextmanager
def _lock(path: Path, flags: int, patience: float) -> Iterator[None]:
    """Hold the lock of the file that has a name at the time when the lock is granted."""
    descriptor = _acquire(path, flags, time.monotonic() + patience, patience)
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
    flags = os.O_RDWR | os.O_CREAT
    first, second = _open_lock(path, flags), _open_lock(path, flags)
    try:
        return not (_try_lock(first, path) and _try_lock(second, path))
    finally:
        _release(first)
        _release(second)


def _open_lock(path: Path, flags: int) -> int:
    try:
        descriptor = open_contained(path, flags)
    except PermissionError:
        if flags & os.O_CREAT:
            raise
        # It is another user's, and can be replaced all the same. Some file servers refuse this.
        descriptor = open_contained(path, os.O_RDONLY)
    _held.add(descriptor)
    return descriptor


def _acquire(path: Path, flags: int, deadline: float, patience: float) -> int:
    while True:
        descriptor = _open_lock(path, flags)
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
