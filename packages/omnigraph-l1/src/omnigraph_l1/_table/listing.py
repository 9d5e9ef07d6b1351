"""What lies below a place, as the store lists it: names, sizes, and when each was last written.

Always: times are the store's own (the file system's on local disk), never a writer's. What is
removed meanwhile is left out. Memory does not grow with the number of files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

import attrs

from omnigraph_l1._lance.manifest_names import parse_name
from omnigraph_l1._places import Storage
from omnigraph_l1._places.failures import harmless, storage_failure, store_errors
from omnigraph_l1._table.pinned import Pinned
from omnigraph_l1._ulid import new_ulid
from omnigraph_l1.errors import StorageError

__all__ = [
    "StoredObject",
    "VersionFile",
    "list_objects",
    "remove_object",
    "time_of_store",
    "version_files",
]

_CLOCK: Final = "clock"


@attrs.frozen(kw_only=True)
class StoredObject:
    """One file below a place."""

    name: str
    """Its path below the place, with ``/`` between segments."""
    size: int
    modified: datetime
    """When it was last written, by the store's clock."""


@attrs.frozen(kw_only=True)
class VersionFile:
    """The file of one version of a lineage."""

    version: int
    size: int
    modified: datetime
    """When the version was committed, by the store's clock."""


def list_objects(storage: Storage) -> Iterator[StoredObject]:
    """List every file below a place, in no order; nothing where there is no such place."""
    if storage.place.is_local:
        try:
            yield from _local_files(storage.place.local_path)
        except OSError as error:
            raise storage_failure(error, storage.place) from error
        return
    try:
        for page in storage.object_store().list():
            for entry in page:
                yield StoredObject(
                    name=str(entry["path"]),
                    size=int(entry["size"]),
                    modified=entry["last_modified"],
                )
    except FileNotFoundError:
        return
    except store_errors() as error:
        raise storage_failure(error, storage.place) from harmless(error)


def remove_object(storage: Storage, name: str) -> None:
    """Remove one file below a place; one that is not there is no error."""
    storage.place / name
    try:
        if storage.place.is_local:
            (storage.place.local_path / name).unlink(missing_ok=True)
        else:
            storage.object_store().delete(name)
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage_failure(error, storage.place) from error
    except store_errors() as error:
        raise storage_failure(error, storage.place) from harmless(error)


def time_of_store(storage: Storage) -> datetime:
    """Tell what time it is by the clock of an object store: an object below the place is written.

    It is removed again; its name is a ULID and ``.clock``, where a kill leaves it.
    """
    name = f"{new_ulid()}.{_CLOCK}"
    store = storage.object_store()
    try:
        store.put(name, b"")
        return store.head(name)["last_modified"]
    except store_errors() as error:
        raise storage_failure(error, storage.place) from harmless(error)
    finally:
        with suppress(StorageError):
            remove_object(storage, name)


def version_files(pinned: Pinned) -> list[VersionFile]:
    """List the versions of a lineage that are left, oldest first. No version is opened."""
    pinned.guard.check()
    below = "_versions" if pinned.branch is None else f"tree/{pinned.branch}/_versions"
    found: dict[int, VersionFile] = {}
    for each in list_objects(pinned.storage.child(below)):
        parsed = parse_name(each.name)
        if parsed is not None:
            number = parsed[1]
            found[number] = VersionFile(version=number, size=each.size, modified=each.modified)
    return [found[number] for number in sorted(found)]


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
