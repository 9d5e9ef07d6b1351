"""Create a new, empty dataset.

Invariant: with our storage version, stable row ids and V2 names; never over anything that is there
already, and never into a folder of other files. A creation that a power cut tore was never
acknowledged: it is set aside, and the dataset made again. One that a killed process left without
its config, which says what decides its versions, gets it from the next creation.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import lance
import pyarrow as pa
from lance import LanceDataset

from omnigraph_l1._dataset.argument_checks import check_schema, parse_texts
from omnigraph_l1._dataset.dataset_opener import open_pinned, remember_new_names
from omnigraph_l1._dataset.durability import set_aside_torn_versions
from omnigraph_l1._dataset.external_manifest_store import check_store, claim_version_store
from omnigraph_l1._dataset.pinned_dataset import VERSION_STORE_MARK, Durability, PinnedDataset
from omnigraph_l1._events import time_event
from omnigraph_l1._lance.lance_failures import (
    LanceFailure,
    Symptom,
    recognize_failures,
    translate_errors,
)
from omnigraph_l1._storage.location import Location, Storage
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._storage.stored_objects import (
    first_names,
    sync_below,
    sync_with_parents,
    translate_os_errors,
)
from omnigraph_l1.errors import (
    CorruptDataset,
    DatasetExists,
    InvalidRequest,
    NotADataset,
    StorageError,
)
from omnigraph_l1.failpoints import declare, failpoint

__all__ = ["create"]

_STORAGE_VERSION: Final = "2.2"
_OWN_NAMES = frozenset(
    {"_versions", "_transactions", "data", "_indices", "_deletions", "_refs", "tree"}
)
_NAMES_LOOKED_AT = 16

_UNMARKED = declare("versions.unmarked", "a dataset is made, and does not name its version store")


def create(
    storage: Storage, schema: pa.Schema, *, config: Mapping[str, str], durability: Durability
) -> PinnedDataset:
    """Make an empty dataset and open it."""
    location = storage.location
    schema = check_schema(schema, location=location)
    settings: Any = parse_texts(config, location=location, what="config")
    with time_event("create", location=str(location)):
        _refuse_foreign_content(storage)
        if not location.is_local:
            check_store(storage)
        settings = {**settings, **claim_version_store(storage)}
        try:
            _write_empty(storage, schema)
        except _Exists as exists:
            if not _set_unborn_aside(storage):
                if storage.location.dynamodb_table and _is_unmarked(storage):
                    _configure(storage, settings)
                raise DatasetExists(location=str(location)) from exists.__cause__
            _write_empty(storage, schema)
        remember_new_names(storage)
        if storage.location.dynamodb_table:
            failpoint(_UNMARKED)
        if settings:
            _configure(storage, settings)
        if location.is_local and durability is Durability.FULL:
            with translate_os_errors(location):
                _flush(location)
    return open_pinned(storage, branch=None, version=None, durability=durability)


def _is_unmarked(storage: Storage) -> bool:
    """Return whether a dataset of this version store has only the first of its two versions."""
    with translate_errors(storage.location):
        found = _open(storage)
        return (
            VERSION_STORE_MARK not in found.config()
            and found.version == 1
            and not found.count_rows()
        )


def _configure(storage: Storage, settings: Any) -> None:
    try:
        with recognize_failures():
            dataset = _open(storage)
            run_watched(storage, lambda: dataset.update_config(settings))
    except LanceFailure as failure:
        with translate_errors(storage.location):
            if not settings.items() <= _open(storage).config().items():
                raise failure.at(storage.location) from failure.cause


def _open(storage: Storage) -> LanceDataset:
    options = storage.lance_options
    return run_watched(storage, lambda: LanceDataset(storage.location.uri, storage_options=options))


class _Exists(Exception):
    """Lance found a dataset at the location, or what is left of one."""


def _write_empty(storage: Storage, schema: pa.Schema) -> None:
    location = storage.location
    try:
        with recognize_failures():
            made: Any = run_watched(
                storage,
                lambda: lance.write_dataset(
                    schema.empty_table(),
                    location.uri,
                    mode="create",
                    storage_options=storage.lance_options,
                    data_storage_version=_STORAGE_VERSION,
                    enable_stable_row_ids=True,
                    enable_v2_manifest_paths=True,
                ),
            )
            if made.version != 1:
                # Lance put it on top of what another made at the same time: give that one back.
                run_watched(storage, lambda: made.checkout_version(made.version - 1).restore())
                raise _Exists
    except LanceFailure as failure:
        if failure.symptom in {Symptom.DATASET_EXISTS, Symptom.TORN}:
            raise _Exists from failure.cause
        error = failure.at(location)
        if type(error) is StorageError:
            # Lance reports a schema that it cannot store in many different ways.
            error = InvalidRequest(location=str(location), reason=failure.words)
        raise error from failure.cause


def _refuse_foreign_content(storage: Storage) -> None:
    found = first_names(storage, _NAMES_LOOKED_AT)
    foreign = [name for name in found if name not in _OWN_NAMES]
    if foreign:
        raise NotADataset(location=str(storage.location), found=", ".join(foreign))


def _set_unborn_aside(storage: Storage) -> bool:
    """Make room where a dataset has no whole version, so that its creation never ended."""
    if not storage.location.is_local:
        return False
    try:
        open_pinned(storage, branch=None, version=None, durability=Durability.FULL)
    except CorruptDataset:
        with translate_errors(storage.location):
            return bool(set_aside_torn_versions(None, None, storage.location.local_path))
    return False


def _flush(location: Location) -> None:
    root = location.local_path
    # Another that creates the same dataset, and is late, takes its own files away again.
    sync_below(root)
    sync_with_parents(root, Path(root.anchor))
