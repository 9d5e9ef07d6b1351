"""A dataset whose versions another store decides says so, and is written with that store only.

Always: the mark is in the config of the dataset from its making on, and names the store by an id
that the store itself keeps, not by where it is. Whoever has another store, or none, may read: he
sees at most one version less. He is refused before he writes anything. A dataset that was copied to
another place is no longer decided by that store, and is written like any other.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import lru_cache
from typing import Final

from lance import LanceDataset

from omnigraph_l1._places import DynamoTable, Storage
from omnigraph_l1._refs.backend import Mismatch, Unsettled
from omnigraph_l1._refs.choosing import whole_store
from omnigraph_l1._ulid import new_ulid
from omnigraph_l1.errors import CorruptDataset, StorageError, UnsafeStore, WrongVersionStore

__all__ = ["MARK", "check_version_store", "claimed", "look_again"]

MARK: Final = "omnigraph:version_store"
_IDENTITY: Final = "omnigraph-version-store.json"


def claimed(storage: Storage) -> dict[str, str]:
    """Give the config of a dataset that is about to be made at a place."""
    if storage.version_store is None:
        return {}
    whole_store(storage).probe()
    mark = {"store": _identity(storage, make=True), "place": _where(storage)}
    return {MARK: json.dumps(mark, ensure_ascii=False)}


def check_version_store(dataset: LanceDataset, storage: Storage) -> None:
    """Raise ``WrongVersionStore`` where a dataset must not be written with this storage."""
    mark = _mark(dataset, storage)
    if mark is None and storage.version_store is None:
        return
    found = None if storage.version_store is None else _identity(storage, make=False)
    if mark != found:
        raise WrongVersionStore(
            place=str(storage.place),
            expected=mark,
            found=None if storage.version_store is None else str(storage.version_store),
        )


def look_again() -> None:
    """Ask version stores again who they are: one may have been put in the place of another."""
    _identity.cache_clear()


def _mark(dataset: LanceDataset, storage: Storage) -> str | None:
    text = dataset.config().get(MARK)
    if text is None:
        return None
    try:
        mark = json.loads(text)
        store, place = str(mark["store"]), str(mark["place"])
    except (ValueError, TypeError, KeyError) as error:
        detail = f"its config {MARK!r} is {text!r}, which names no version store"
        raise CorruptDataset(place=str(storage.place), detail=detail) from error
    return store if place == _where(storage) else None


def _where(storage: Storage) -> str:
    """Name a place by what stays the same with and without a version store."""
    return f"{storage.place.bucket}/{storage.place.key}"


@lru_cache(256)
def _identity(storage: Storage, *, make: bool) -> str:
    """Read the id of a version store, once for each place in a process; make it in a new one."""
    store = whole_store(storage)
    bucket = storage.place.bucket
    if make:
        made = {"id": new_ulid(), "bucket": bucket}
        with suppress(Mismatch, Unsettled):  # whatever stands there then is its id
            store.write(_IDENTITY, json.dumps(made).encode(), None)
    stored = store.read(_IDENTITY)
    where = str(storage.version_store)
    if stored is None:
        raise StorageError(place=where, detail="there is no version store")
    try:
        content = json.loads(stored.data)
        identity, first_bucket = str(content["id"]), str(content["bucket"])
    except (ValueError, TypeError, KeyError) as error:
        raise StorageError(place=where, detail="its identity is damaged") from error
    if isinstance(storage.version_store, DynamoTable) and first_bucket != bucket:
        detail = (
            f"it decides the versions of bucket {first_bucket!r}, and Lance would take those of "
            f"{bucket!r} for the same: use a table for each bucket"
        )
        raise UnsafeStore(place=where, detail=detail)
    return identity
