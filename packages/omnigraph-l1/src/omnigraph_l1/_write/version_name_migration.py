"""Migration of version files from the old names to those that Lance gives new datasets.

Invariant: each file gets its new name before it loses the old one, and never the name of another,
so that no version is lost wherever it is cut short; calling it again goes on. The newest version
comes first, because in a store Lance may take the newest of the new names for the newest version
without a word; mostly, and on local disk always, it opens none while names of both kinds are there.
Lance's own migration puts one file in the place of another where a version has both names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError

from omnigraph_l1._dataset.dataset_opener import open_pinned
from omnigraph_l1._dataset.pinned_dataset import Durability
from omnigraph_l1._events import time_event
from omnigraph_l1._lance.version_files import NamingScheme, format_name, parse_name
from omnigraph_l1._storage.location import Location, Storage
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._storage.store_failures import harmless, to_storage_error
from omnigraph_l1._storage.stored_objects import (
    list_objects,
    read_object,
    remove_object,
    sync_directories,
    translate_os_errors,
)
from omnigraph_l1.errors import InvalidRequest, MixedVersionNames
from omnigraph_l1.failpoints import declare, failpoint

__all__ = ["migrate_version_names"]

_BOTH_NAMES = declare("l1.names.both", "a version file has its new name, and the old one still")
_RENAMED = declare("l1.names.renamed", "a version file has its new name, and others may not")

_ROUNDS: Final = 10
_VERSIONS: Final = "_versions"


def migrate_version_names(
    location: str | os.PathLike[str] | Location | Storage,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> int:
    """Rename the version files of a dataset from ``{version}.manifest``; return how many.

    No other client may write during this, nor go on with an older handle, which would write under
    the old names. On local disk the dataset does not open then until this is called again; in a
    store such a commit is not seen until then, and others may commit the same version.
    """
    storage = Storage.resolve(location, storage_options)
    if storage.location.dynamodb_table:
        table = storage.location.dynamodb_table
        reason = f"DynamoDB table {table} decides its versions and refers to their names"
        raise InvalidRequest(location=str(storage.location), reason=reason)
    folder = storage.child(_VERSIONS)
    renamed = 0
    with time_event("migrate_version_names", location=str(storage.location)) as event:
        for _ in range(_ROUNDS):
            old = _old_names(storage, folder)
            if not old:
                break
            for version in old:
                _rename(storage, folder, version)
                renamed += 1
                failpoint(_RENAMED)
        else:
            detail = f"others wrote under old names in each of {_ROUNDS} rounds"
            raise MixedVersionNames(location=str(storage.location), detail=detail)
        if folder.location.is_local and renamed:
            with translate_os_errors(storage.location):
                sync_directories([folder.location.local_path])
        event["renamed"] = renamed
    open_pinned(storage, branch=None, version=None, durability=Durability.NONE)
    return renamed


def _old_names(storage: Storage, folder: Storage) -> list[int]:
    """List the versions that have an old name, newest first, if none is there twice."""
    found: dict[NamingScheme, set[int]] = {scheme: set() for scheme in NamingScheme}
    for each in list_objects(folder):
        parsed = parse_name(each.name)
        if parsed is not None:
            found[parsed[0]].add(parsed[1])
    old, new = found[NamingScheme.V1], found[NamingScheme.V2]
    for version in sorted(old & new):
        names = [format_name(version, scheme) for scheme in NamingScheme]
        first, second = (read_object(folder, name) for name in names)
        if first is not None and second is not None and first != second:
            raise _two_versions(storage, version)
    return sorted(old, reverse=True)


def _rename(storage: Storage, folder: Storage, version: int) -> None:
    before, after = (format_name(version, scheme) for scheme in NamingScheme)
    content = read_object(folder, before)
    if content is None:
        return  # another migration, or a cleaning, was faster
    with translate_os_errors(storage.location):
        try:
            if folder.location.is_local:
                os.link(folder.location.local_path / before, folder.location.local_path / after)
            else:
                _create(folder, after, content)
        except FileNotFoundError:
            return
        except FileExistsError:
            if read_object(folder, after) != content:
                raise _two_versions(storage, version) from None
    failpoint(_BOTH_NAMES)
    remove_object(folder, before)


def _create(folder: Storage, name: str, content: bytes) -> None:
    try:
        run_watched(
            folder, lambda: obstore.put(folder.object_store(), name, content, mode="create")
        )
    except AlreadyExistsError:
        raise FileExistsError(name) from None
    except (BaseError, TimeoutError) as error:
        raise to_storage_error(error, folder.location) from harmless(error)


def _two_versions(storage: Storage, version: int) -> MixedVersionNames:
    detail = (
        f"{format_name(version, NamingScheme.V1)} and {format_name(version)} are two different "
        f"versions {version}, made by two writers; move the one away that you do not want"
    )
    return MixedVersionNames(location=str(storage.location), detail=detail)
