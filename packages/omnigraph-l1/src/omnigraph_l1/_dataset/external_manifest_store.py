"""What decides the versions of a dataset: its store, or an external manifest store.

The external one is DynamoDB (``s3+ddb://``), and leaves a mark. Otherwise the store must honour
conditional puts, which is tried before the first write.

Invariant: the mark is in the config of the dataset from its creation, and names the store by an id
that the store itself keeps, not by its location. A client with another store, or with none, may
read: it sees at most one version less. Its writes are refused before anything changes. A dataset
that was copied to another location is no longer decided by that store, and is written like any
other.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import Final

from lance import LanceDataset

from omnigraph_l1._dataset.pinned_dataset import VERSION_STORE_MARK, PinnedDataset
from omnigraph_l1._refs.dynamodb_backend import DynamoBackend
from omnigraph_l1._refs.object_backend import probe_store_once
from omnigraph_l1._refs.ref_backend import ConditionFailed, ReplyLost
from omnigraph_l1._storage.location import Storage
from omnigraph_l1._text_encoding import decode_json, encode_json, new_ulid
from omnigraph_l1.errors import CorruptDataset, StorageError, UnsafeStore, WrongVersionStore

__all__ = ["check_store", "check_version_store", "claim_version_store"]

_IDENTITY: Final = "omnigraph-version-store.json"


def check_store(storage: Storage) -> None:
    """Raise ``UnsafeStore`` before the first write to a store that ignores conditional puts.

    Lance relies on them for each version, and would acknowledge what another writer replaces. With
    a version store DynamoDB decides.
    """
    if not storage.location.dynamodb_table:
        probe_store_once(storage.child("_refs"))


def claim_version_store(storage: Storage) -> dict[str, str]:
    """Return the config of a dataset that is about to be created at a location."""
    if not storage.location.dynamodb_table:
        return {}
    DynamoBackend(storage, "").probe()
    mark = {"store": _identity(storage, make=True), "place": _location(storage)}
    return {VERSION_STORE_MARK: encode_json(mark)}


def check_version_store(pinned: PinnedDataset) -> None:
    """Raise ``WrongVersionStore`` if a dataset must not be written with this storage."""
    storage = pinned.storage
    mark = _mark(pinned.dataset, storage)
    table = storage.location.dynamodb_table
    if mark is None and not table:
        return
    found = _identity(storage, make=False) if table else None
    if mark != found:
        raise WrongVersionStore(
            location=str(storage.location),
            expected=mark,
            found=DynamoBackend(storage, "").location if table else None,
        )


def _mark(dataset: LanceDataset, storage: Storage) -> str | None:
    text = dataset.config().get(VERSION_STORE_MARK)
    if text is None:
        return None
    try:
        mark = decode_json(text)
        store, location = str(mark["store"]), str(mark["place"])
    except (ValueError, TypeError, KeyError) as error:
        detail = f"its config {VERSION_STORE_MARK!r} is {text!r}, which names no version store"
        raise CorruptDataset(location=str(storage.location), detail=detail) from error
    return store if location == _location(storage) else None


def _location(storage: Storage) -> str:
    """Return the name of a location that is the same with and without a version store."""
    return f"{storage.location.bucket}/{storage.location.key}"


@lru_cache(256)
def _identity(storage: Storage, *, make: bool) -> str:
    """Read the id of a version store, once per location and process; make it in a new one."""
    store = DynamoBackend(storage, "")
    bucket = storage.location.bucket
    if make:
        made = {"id": new_ulid(), "bucket": bucket}
        with suppress(ConditionFailed, ReplyLost):  # what is there then is its id
            store.write(_IDENTITY, encode_json(made).encode(), None)
    stored = store.read(_IDENTITY)
    if stored is None:
        raise StorageError(location=store.location, detail="there is no version store")
    try:
        content = decode_json(stored.data)
        identity, first_bucket = str(content["id"]), str(content["bucket"])
    except (ValueError, TypeError, KeyError) as error:
        raise StorageError(location=store.location, detail="its identity is damaged") from error
    if first_bucket != bucket:
        detail = (
            f"it decides the versions of bucket {first_bucket!r}, and Lance would take those of "
            f"{bucket!r} for the same: use a table for each bucket"
        )
        raise UnsafeStore(location=store.location, detail=detail)
    return identity
