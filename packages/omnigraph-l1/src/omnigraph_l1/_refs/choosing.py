"""Which backend keeps the small documents of a place: the place itself, or its version store.

Always: every document of a place, a ref or the record of a version, is decided by one store. Where
that is a version store, documents are kept under the full name of their place, so that several
repositories can share it.
"""

from __future__ import annotations

from typing import TypeAlias

from omnigraph_l1._places import Place, SqliteFile, Storage
from omnigraph_l1._refs.backend import Backend
from omnigraph_l1._refs.dynamodb import DynamoBackend
from omnigraph_l1._refs.local import LocalBackend
from omnigraph_l1._refs.sqlite import SqliteBackend
from omnigraph_l1._refs.store import StoreBackend

__all__ = ["VersionStore", "backend_of", "version_records", "whole_store"]

VersionStore: TypeAlias = SqliteBackend | StoreBackend | DynamoBackend


def backend_of(storage: Storage, directory: str, *, flush: bool) -> Backend:
    """Give the backend for a directory below a place; an empty name is the place itself."""
    place = storage.place
    if place.is_local:
        return LocalBackend(place.local_path, directory, flush=flush)
    if storage.version_store is not None:
        whole = _whole_name(place, directory)
        return _ours(storage, whole) or DynamoBackend(storage, whole)
    return StoreBackend(storage.child(directory) if directory else storage)


def version_records(storage: Storage, directory: str) -> SqliteBackend | StoreBackend | None:
    """Give where versions below a place are recorded by us; None where Lance does it itself."""
    return _ours(storage, _whole_name(storage.place, directory))


def whole_store(storage: Storage) -> VersionStore:
    """Give what the version store of a place keeps about itself."""
    return _ours(storage, "") or DynamoBackend(storage, "")


def _ours(storage: Storage, directory: str) -> SqliteBackend | StoreBackend | None:
    store = storage.version_store
    if isinstance(store, SqliteFile):
        return SqliteBackend(store, directory)
    if isinstance(store, Storage):
        return StoreBackend(store.child(directory) if directory else store)
    return None


def _whole_name(place: Place, directory: str) -> str:
    return "/".join(part for part in (place.scheme, place.bucket, place.key, directory) if part)
