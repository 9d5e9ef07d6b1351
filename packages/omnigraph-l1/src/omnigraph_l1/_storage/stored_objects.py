"""The files below a location: list, read and remove them; on local disk check and flush them.

Invariants: whatever a location on local disk contains, nothing outside of it is read as data,
changed or removed: links, and files that are no files, are refused. The location itself may be
reached through a link. A hard link is a file of it: none of ours is changed in place.

Times are the store's own (the file system's on local disk), never a writer's. What is removed
during a listing is left out, and memory does not grow with the number of files. When a ``sync_…``
function returns, what it was given survives a power cut; Lance itself never flushes. A name is
durable only when the directory that holds it is, so both are flushed.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Final

import attrs
import obstore
from obstore.exceptions import BaseError

from omnigraph_l1._storage.location import Location, Storage
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._storage.store_failures import harmless, store_errors, to_storage_error
from omnigraph_l1._text_encoding import new_ulid
from omnigraph_l1.errors import StorageError, UnsafePath

__all__ = [
    "StoredObject",
    "all_names",
    "check_directories",
    "check_files",
    "check_tree",
    "first_names",
    "has_object",
    "list_objects",
    "open_contained",
    "read_contained",
    "read_object",
    "remove_object",
    "sync_below",
    "sync_directories",
    "sync_files",
    "sync_with_parents",
    "time_of_store",
    "translate_os_errors",
]

_CLOCK: Final = "clock"


@attrs.frozen(kw_only=True)
class StoredObject:
    """One file below a location."""

    name: str
    """Its path below the location, with ``/`` between segments."""
    size: int
    modified: datetime
    """When it was last written, by the store's clock."""


def list_objects(storage: Storage) -> Iterator[StoredObject]:
    """List every file below a location, in no order; nothing if there is no such location."""
    if storage.location.is_local:
        try:
            yield from _local_files(storage.location.local_path)
        except OSError as error:
            raise to_storage_error(error, storage.location) from error
        return
    try:
        pages = iter(storage.object_store().list())
        while (page := run_watched(storage, lambda: next(pages, None))) is not None:
            for entry in page:
                yield StoredObject(
                    name=str(entry["path"]),
                    size=int(entry["size"]),
                    modified=entry["last_modified"],
                )
    except FileNotFoundError:
        return
    except store_errors() as error:
        raise to_storage_error(error, storage.location) from harmless(error)


def remove_object(storage: Storage, name: str) -> None:
    """Remove one file below a location; one that is not there is no error."""
    storage.location / name
    try:
        if storage.location.is_local:
            (storage.location.local_path / name).unlink(missing_ok=True)
        else:
            run_watched(storage, lambda: storage.object_store().delete(name))
    except FileNotFoundError:
        return
    except OSError as error:
        raise to_storage_error(error, storage.location) from error
    except store_errors() as error:
        raise to_storage_error(error, storage.location) from harmless(error)


def time_of_store(storage: Storage) -> datetime:
    """Return the time by the clock of an object store: an object below the location is written.

    It is removed again; its name is a ULID and ``.clock``, where a kill leaves it.
    """
    name = f"{new_ulid()}.{_CLOCK}"
    store = storage.object_store()
    try:
        run_watched(storage, lambda: store.put(name, b""))
        return run_watched(storage, lambda: store.head(name)["last_modified"])
    except store_errors() as error:
        raise to_storage_error(error, storage.location) from harmless(error)
    finally:
        with suppress(StorageError):
            remove_object(storage, name)


def _local_files(top: Path) -> Iterator[StoredObject]:
    pending = [top]
    while pending:
        directory = pending.pop()
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(Path(entry.path))
                        continue
                    try:
                        facts = entry.stat()
                    except FileNotFoundError:
                        continue
                    yield StoredObject(
                        name=Path(entry.path).relative_to(top).as_posix(),
                        size=facts.st_size,
                        modified=datetime.fromtimestamp(facts.st_mtime, timezone.utc),
                    )
        except (FileNotFoundError, NotADirectoryError):
            continue


_LOOKED_AT = 64


@contextmanager
def translate_os_errors(location: Location) -> Iterator[None]:
    """Translate every error of the operating system in the block."""
    try:
        yield
    except OSError as error:
        raise to_storage_error(error, location) from error


def read_object(storage: Storage, name: str) -> bytes | None:
    """Read one small file below the location; None if it is not there."""
    storage.location / name
    if storage.location.is_local:
        try:
            return read_contained(storage.location.local_path / name)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise to_storage_error(error, storage.location) from error
    try:
        return run_watched(
            storage, lambda: bytes(obstore.get(storage.object_store(), name).bytes())
        )
    except FileNotFoundError:
        return None
    except (BaseError, TimeoutError) as error:
        raise to_storage_error(error, storage.location) from harmless(error)


def has_object(storage: Storage, name: str) -> bool:
    """Return whether a file is in an object store, below the location."""
    try:
        run_watched(storage, lambda: storage.object_store().head(name))
    except FileNotFoundError:
        return False
    except (BaseError, TimeoutError) as error:
        raise to_storage_error(error, storage.location) from harmless(error)
    return True


def first_names(storage: Storage, count: int) -> list[str]:
    """Return a few of the names directly below the location; none if there is no such location."""
    return _names(storage, _LOOKED_AT)[:count]


def all_names(storage: Storage) -> list[str]:
    """Return all names directly below the location; none if there is no such location."""
    return _names(storage, None)


def _names(storage: Storage, looked_at: int | None) -> list[str]:
    if storage.location.is_local:
        try:
            with os.scandir(storage.location.local_path) as entries:
                return sorted(entry.name for entry in islice(entries, looked_at))
        except FileNotFoundError:
            return []
        except NotADirectoryError:
            return ["a file"]
        except OSError as error:
            raise to_storage_error(error, storage.location) from error
    try:
        listing = run_watched(storage, lambda: obstore.list_with_delimiter(storage.object_store()))
    except FileNotFoundError:
        return []
    except (BaseError, TimeoutError) as error:
        raise to_storage_error(error, storage.location) from harmless(error)
    names = [*listing["common_prefixes"], *(entry["path"] for entry in listing["objects"])]
    return sorted(names)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        if sys.platform == "darwin":
            import fcntl  # noqa: PLC0415

            # On macOS fsync stops at the drive's cache.
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_files(paths: Iterable[Path]) -> None:
    """Flush each file, then each directory that holds one."""
    directories: dict[Path, None] = {}
    for path in paths:
        _sync(path, os.O_RDONLY)
        directories[path.parent] = None
    sync_directories(directories)


def sync_below(top: Path) -> None:
    """Flush all files below a directory; those that others remove during this are left out."""
    for base, _, names in os.walk(top):
        with suppress(FileNotFoundError):
            for name in names:
                with suppress(FileNotFoundError):
                    _sync(Path(base, name), os.O_RDONLY)
            sync_directories([Path(base)])


def sync_directories(paths: Iterable[Path]) -> None:
    """Flush the names in each directory."""
    for path in paths:
        _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def sync_with_parents(directory: Path, upto: Path) -> None:
    """Flush ``directory`` and all above it, down from and including ``upto``."""
    chain = [directory]
    while chain[-1] != upto and chain[-1] != chain[-1].parent:
        chain.append(chain[-1].parent)
    sync_directories(chain)


def check_directories(top: Path, names: Iterable[str]) -> None:
    """Raise ``UnsafePath`` if a name below ``top``, or a directory on the way, is no directory.

    A name that does not exist is no error. ``top`` itself may be a link.
    """
    seen: set[str] = set()
    for name in names:
        path = ""
        for part in name.split("/"):
            path = f"{path}/{part}" if path else part
            if path in seen:
                continue
            seen.add(path)
            whole = f"{top}/{path}"
            if not _is_safe(part):
                raise _leads_out(whole)
            if not _has_kind(whole, stat.S_IFDIR, "a directory"):
                break


def check_files(paths: Iterable[str]) -> None:
    """Raise ``UnsafePath`` if one is something else than a file, or leads up; it may be missing."""
    for path in paths:
        if "/../" in path or "/./" in path or "\0" in path:
            raise _leads_out(path)
        _has_kind(path, stat.S_IFREG, "a file")


def check_tree(directory: Path) -> None:
    """Raise ``UnsafePath`` if anything below a directory is neither a directory nor a file."""
    pending = [directory]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(Path(entry.path))
                    elif not entry.is_file(follow_symlinks=False):
                        mode = entry.stat(follow_symlinks=False).st_mode
                        raise UnsafePath(
                            path=entry.path, expected="a file or a directory", found=_kind(mode)
                        )
        except (FileNotFoundError, NotADirectoryError):
            continue


def read_contained(path: Path) -> bytes:
    """Read a file that must not be a link; raise ``UnsafePath`` if it is no file."""
    with os.fdopen(open_contained(path, os.O_RDONLY), "rb") as file:
        return file.read()


def open_contained(path: Path, flags: int, mode: int = 0o666) -> int:
    """Open a file that must not be a link; raise ``UnsafePath`` if it is no file."""
    # Without O_NONBLOCK, opening a pipe waits for its other end.
    safe = flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, safe, mode)
    except OSError:
        _has_kind(str(path), stat.S_IFREG, "a file")
        raise
    found = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(found):
        os.close(descriptor)
        raise UnsafePath(path=str(path), expected="a file", found=_kind(found))
    return descriptor


def _is_safe(name: str) -> bool:
    return name not in {"", ".", ".."} and "/" not in name and "\0" not in name


def _leads_out(path: str) -> UnsafePath:
    return UnsafePath(path=path, expected="a name in that directory", found="another path")


def _has_kind(path: str, kind: int, expected: str) -> bool:
    """Return whether there is something of a kind; raise if it is of another."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    if stat.S_IFMT(mode) != kind:
        raise UnsafePath(path=path, expected=expected, found=_kind(mode))
    return True


_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a directory",
    stat.S_IFREG: "a file",
}


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "a device")
