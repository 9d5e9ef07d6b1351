"""Which backend keeps the small documents of a place: the place itself, or its version store.

Always: every document of a place, a ref or the record of a version, is decided by one store. Where
that is a version store, documents are kept under the full name of their place, so that several
repositories can share it.
"""

from __future__ import annotations

from omnigraph_l1._places import DynamoTable, Place, SqliteFile, Storage
from omnigraph_l1._refs.backend import Backend
from omnigraph_l1._refs.local import LocalBackend
from omnigraph_l1._refs.sqlite import SqliteBackend
from omnigraph_l1._refs.store import StoreBackend

__all__ = ["backend_of", "deciding", "whole_store"]


def backend_of(storage: Storage, directory: str, *, flush: bool) -> Backend:
    """Give the backend for a directory below a place; an empty name is the place itself."""
    place = storage.place
    if place.is_local:
        return LocalBackend(place.local_path, directory, flush=flush)
    if storage.version_store is not None:
        return deciding(storage, directory)
    return StoreBackend(storage.child(directory) if directory else storage)


def deciding(storage: Storage, directory: str) -> SqliteBackend | StoreBackend:
    """Give what the version store of a place keeps under a directory below the place."""
    return _below(storage, _whole_name(storage.place, directory))


def whole_store(storage: Storage) -> SqliteBackend | StoreBackend:
    """Give what the version store of a place keeps about itself."""
    return _below(storage, "")


def _below(storage: Storage, directory: str) -> SqliteBackend | StoreBackend:
    store = storage.version_store
    if isinstance(store, SqliteFile):
        return SqliteBackend(store, directory)
    if isinstance(store, Storage):
        return StoreBackend(store.child(directory) if directory else store)
    raise NotImplementedError(DynamoTable)


def _whole_name(place: Place, directory: str) -> str:
    return "/".join(part for part in (place.scheme, place.bucket, place.key, directory) if part)
