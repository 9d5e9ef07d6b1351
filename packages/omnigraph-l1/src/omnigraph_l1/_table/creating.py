"""Making a new, empty dataset.

Always: with our storage version, stable row ids and V2 names; never over anything that is there
already, and never into a folder of other files. A creation that a power cut tore was never
acknowledged: it is set aside, and the dataset made again. One that a killed process left without
its config, which says what decides its versions, gets that from whoever makes it again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import lance
import pyarrow as pa
from lance import LanceDataset

from omnigraph_l1._durable import sync_files, sync_with_parents
from omnigraph_l1._events import timed
from omnigraph_l1._failpoints import declare, failpoint
from omnigraph_l1._lance.failures import LanceFailure, Symptom, lance_border, lance_calls
from omnigraph_l1._places import Place, Storage
from omnigraph_l1._table.arguments import checked_texts
from omnigraph_l1._table.columns import checked_schema
from omnigraph_l1._table.objects import first_names, storage_border
from omnigraph_l1._table.opening import open_pinned
from omnigraph_l1._table.pinned import Durability, Pinned
from omnigraph_l1._table.wholeness import set_torn_aside
from omnigraph_l1._versions import MARK, claimed, is_first_of, lance_arguments
from omnigraph_l1.errors import (
    CorruptDataset,
    DatasetExists,
    InvalidRequest,
    NotADataset,
    StorageError,
)

__all__ = ["create"]

_STORAGE_VERSION: Final = "2.2"
_OWN_NAMES = frozenset(
    {"_versions", "_transactions", "data", "_indices", "_deletions", "_refs", "tree"}
)
_NAMES_LOOKED_AT = 16

_UNMARKED = declare("versions.unmarked", "a dataset is made, and does not name its version store")


def create(
    storage: Storage, schema: pa.Schema, *, config: Mapping[str, str], durability: Durability
) -> Pinned:
    """Make an empty dataset and open it."""
    place = storage.place
    schema = checked_schema(schema, place=place)
    settings: Any = checked_texts(config, place=place, what="the config")
    with timed("create", place=str(place)):
        _refuse_foreign_content(storage)
        settings = {**settings, **claimed(storage)}
        try:
            _write_empty(storage, schema)
        except _Exists as exists:
            if not _set_unborn_aside(storage):
                if storage.version_store is not None and _is_unmarked(storage):
                    _configure(storage, settings)
                raise DatasetExists(place=str(place)) from exists.__cause__
            _write_empty(storage, schema)
        if storage.version_store is not None:
            failpoint(_UNMARKED)
        if settings:
            _configure(storage, settings)
        if place.is_local and durability is Durability.FULL:
            with storage_border(place):
                _flush(place)
    return open_pinned(storage, branch=None, version=None, durability=durability)


def _is_unmarked(storage: Storage) -> bool:
    """Tell whether a dataset of this version store has only the first of its two versions."""
    with lance_border(storage.place):
        found = _opened(storage)
        return MARK not in found.config() and is_first_of(found, storage)


def _configure(storage: Storage, settings: Any) -> None:
    try:
        with lance_calls():
            _opened(storage).update_config(settings)
    except LanceFailure as failure:
        with lance_border(storage.place):
            if not settings.items() <= _opened(storage).config().items():
                raise failure.at(storage.place) from failure.cause


def _opened(storage: Storage) -> LanceDataset:
    options = storage.lance_options
    return LanceDataset(storage.place.uri, storage_options=options, **lance_arguments(storage))


class _Exists(Exception):
    """Lance found a dataset at the place, or what is left of one."""


def _write_empty(storage: Storage, schema: pa.Schema) -> None:
    place = storage.place
    try:
        with lance_calls():
            deciding = lance_arguments(storage)
            deciding.pop("namespace_client_managed_versioning", None)
            made: Any = lance.write_dataset(
                schema.empty_table(),
                None if deciding else place.uri,
                mode="create",
                storage_options=storage.lance_options,
                data_storage_version=_STORAGE_VERSION,
                enable_stable_row_ids=True,
                enable_v2_manifest_paths=True,
                **deciding,
            )
            if made.version != 1:
                # Lance put it on top of what another made at the same time: give that one back.
                made.checkout_version(made.version - 1).restore()
                raise _Exists
    except LanceFailure as failure:
        if failure.symptom in {Symptom.DATASET_EXISTS, Symptom.TORN}:
            raise _Exists from failure.cause
        error = failure.at(place)
        if type(error) is StorageError:
            # A schema that Lance cannot store is told in many different ways.
            error = InvalidRequest(place=str(place), reason=failure.words)
        raise error from failure.cause


def _refuse_foreign_content(storage: Storage) -> None:
    found = first_names(storage, _NAMES_LOOKED_AT)
    foreign = [name for name in found if name not in _OWN_NAMES]
    if foreign:
        raise NotADataset(place=str(storage.place), found=", ".join(foreign))


def _set_unborn_aside(storage: Storage) -> bool:
    """Make room where a dataset has no whole version, so that its creation never ended."""
    if not storage.place.is_local:
        return False
    try:
        open_pinned(storage, branch=None, version=None, durability=Durability.FULL)
    except CorruptDataset:
        return bool(set_torn_aside(None, None, storage.place.local_path))
    return False


def _flush(place: Place) -> None:
    root = place.local_path
    # Another that creates the same dataset, and is late, takes its own files away again.
    files = (Path(base, name) for base, _, names in os.walk(root) for name in names)
    sync_files(files, missing_ok=True)
    sync_with_parents(root, Path(root.anchor))
