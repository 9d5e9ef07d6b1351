"""Opening a dataset: at the head of a lineage, at a version, or later at a newer one.

Always: what is opened is whole and is what was asked for. Where a power cut left damage at the
head of a lineage on local disk, readers get the newest whole version. A branch whose creation was
cut short is not opened. A branch whose dataset was moved is refused, because Lance would read the
files of the place it came from.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

import attrs
import lance
from lance import LanceDataset

from omnigraph_l1._events import emit, timed
from omnigraph_l1._lance.failures import LanceFailure, Symptom, lance_border, lance_calls
from omnigraph_l1._lance.manifest_names import NamingScheme, format_name
from omnigraph_l1._places import Place, Storage
from omnigraph_l1._process import ProcessGuard
from omnigraph_l1._table.arguments import checked_version
from omnigraph_l1._table.branch_identity import check_branch_identity, read_branch_identity
from omnigraph_l1._table.dataset_identity import DatasetIdentity, check_dataset_identity
from omnigraph_l1._table.objects import first_names, storage_border
from omnigraph_l1._table.pinned import Durability, Pinned, lineage_directory
from omnigraph_l1._table.wholeness import is_whole, newest_after, newest_first, opens_whole
from omnigraph_l1._versions import lance_arguments
from omnigraph_l1.errors import (
    CorruptDataset,
    DatasetNotFound,
    L1Error,
    MovedDataset,
    NotADataset,
    StaleBranch,
    StaleDataset,
    UnknownVersion,
)

__all__ = [
    "Caches",
    "Recipe",
    "at_version",
    "damaged_versions",
    "latest",
    "manifest_path",
    "open_pinned",
    "versions",
]

_ABSENT = frozenset({Symptom.DATASET_MISSING, Symptom.VERSION_MISSING, Symptom.MISSING})
_NAMES_SHOWN = 3
_METADATA_CACHE_BYTES: Final = 16 * 1024 * 1024
_INDEX_CACHE_BYTES: Final = 256 * 1024 * 1024


def _new_session() -> Any:
    """Make caches. By itself Lance keeps up to 7 GB for each dataset."""
    return lance.Session(  # type: ignore[attr-defined]  # it is public, and not in the list
        metadata_cache_size_bytes=_METADATA_CACHE_BYTES, index_cache_size_bytes=_INDEX_CACHE_BYTES
    )


@attrs.frozen(eq=False)
class Caches:
    """Caches of Lance, empty at first, for datasets that are opened with them.

    Datasets share those of the process otherwise; then what is missing on disk may not be noticed.
    """

    _session: Any = attrs.field(factory=_new_session, init=False, repr=False)


def open_pinned(
    storage: Storage,
    *,
    branch: str | None,
    version: int | None,
    durability: Durability,
    caches: Caches | None = None,
) -> Pinned:
    """Open a lineage at a version, or at its head where no version is given."""
    place = storage.place
    if version is not None:
        version = checked_version(version, place=place, branch=branch)
    with timed("open", place=str(place), branch=branch) as event, storage_border(place):
        identity = None if branch is None else read_branch_identity(storage, branch)
        session = _session(os.getpid()) if caches is None else caches._session  # noqa: SLF001
        dataset = _open_main(storage, version if branch is None else None, session)
        if branch is not None:
            dataset = _checkout(dataset, place, branch, version)
            _refuse_moved(dataset, place)
        event["version"] = dataset.version
    return Pinned(
        storage,
        dataset,
        branch=branch,
        branch_identity=identity,
        durability=durability,
        guard=ProcessGuard(f"The table handle on {place}"),
    )


@attrs.frozen(kw_only=True)
class Recipe:
    """What opens a handle again in another process, over the same branch of the same dataset."""

    storage: Storage
    branch: str | None
    branch_identity: str | None
    version: int
    durability: Durability
    dataset_identity: DatasetIdentity | None

    @classmethod
    def of(cls, pinned: Pinned) -> Recipe:
        """Write down what is pinned."""
        return cls(**{field.name: getattr(pinned, field.name) for field in attrs.fields(cls)})

    def open(self) -> Pinned:
        """Open it; ``StaleBranch`` or ``StaleDataset`` where another is in its place."""
        if self.branch is not None and self.branch_identity is not None:
            check_branch_identity(self.storage, self.branch, self.branch_identity)
        pinned = open_pinned(
            self.storage, branch=self.branch, version=self.version, durability=self.durability
        )
        if self.dataset_identity is not None:
            check_dataset_identity(
                pinned.place, pinned.directory, self.version, self.dataset_identity
            )
        return pinned


def latest(pinned: Pinned) -> Pinned:
    """Look for a newer version of the lineage: one request where there is none."""
    pinned.refuse_stale()
    if pinned.place.is_local:
        near = newest_after(pinned.directory, pinned.version)
        if near == pinned.version:
            return pinned
        if near is not None and opens_whole(pinned.dataset, pinned.branch, near, pinned.directory):
            return at_version(pinned, near)
    try:
        with lance_calls():
            newest = pinned.dataset.latest_version
    except LanceFailure as failure:
        if failure.symptom in _ABSENT:
            raise DatasetNotFound(place=str(pinned.place)) from failure.cause
        raise failure.at(pinned.place) from failure.cause
    if newest == pinned.version:
        return pinned
    if newest < pinned.version:
        raise _fewer_versions(pinned)
    with storage_border(pinned.place):
        dataset = _checkout(pinned.dataset, pinned.place, pinned.branch, None)
    return pinned.at(dataset)


def _fewer_versions(pinned: Pinned) -> L1Error:
    """Tell what is the matter where the head is older than what is open: numbers never go down."""
    place = str(pinned.place)
    if pinned.branch is None:
        return StaleDataset(place=place, version=pinned.version)
    return StaleBranch(place=place, branch=pinned.branch, reason="was deleted and created again")


def at_version(pinned: Pinned, version: int) -> Pinned:
    """Open another version of the same lineage, with what is cached already."""
    pinned.refuse_stale()
    version = checked_version(version, place=pinned.place, branch=pinned.branch)
    with storage_border(pinned.place):
        dataset = _checkout(pinned.dataset, pinned.place, pinned.branch, version)
    return pinned.at(dataset)


def manifest_path(pinned: Pinned) -> str:
    """Name the file of the pinned version, inside its bucket, without a leading slash.

    In a store the name is of the new kind, which all have that were not made long ago.
    """
    lineage = "" if pinned.branch is None else f"tree/{pinned.branch}/"
    identity = pinned.dataset_identity
    old = identity is not None and identity.scheme is NamingScheme.V1
    name = format_name(pinned.version, NamingScheme.V1 if old else NamingScheme.V2)
    return f"{pinned.place.key}/{lineage}_versions/{name}"


def versions(pinned: Pinned) -> list[int]:
    """List the versions of the lineage that are left, oldest first."""
    pinned.guard.check()
    with lance_border(pinned.place):
        return sorted(entry["version"] for entry in pinned.dataset.version_refs())


def damaged_versions(pinned: Pinned, among: Iterable[int]) -> list[int]:
    """Tell which of these versions are there and cannot be opened. Each costs a request."""
    damaged = []
    for version in among:
        try:
            at_version(pinned, version)
        except UnknownVersion:
            continue
        except CorruptDataset:
            damaged.append(version)
    return damaged


def _open_main(storage: Storage, version: int | None, session: Any) -> LanceDataset:
    """Open main."""
    place = storage.place
    if place.is_local and not place.local_path.is_dir():
        # Lance would retry for seconds before it says so.
        raise _nothing_there(storage)
    try:
        with lance_calls():
            dataset = LanceDataset(
                place.uri,
                version=version,
                storage_options=storage.lance_options,
                session=session,
                **lance_arguments(storage),
            )
    except LanceFailure as failure:
        if failure.symptom in _ABSENT:
            raise _missing(storage, version) from failure.cause
        if failure.symptom is Symptom.TORN and place.is_local and version is None:
            return _newest_whole_main(storage.place, session)
        raise _failed_opening(failure, place, version) from failure.cause
    if version is not None:
        _refuse_other(dataset, place, None, version)
    elif place.is_local and not is_whole(dataset, place.local_path):
        return _newest_whole_main(place, session)
    return dataset


def _checkout(
    opened: LanceDataset, place: Place, branch: str | None, version: int | None
) -> LanceDataset:
    """Check out a lineage."""
    try:
        with lance_calls():
            dataset = opened.checkout_version((branch, version))
    except LanceFailure as failure:
        if version is not None and failure.symptom in _ABSENT:
            raise _no_version(place, branch, version) from failure.cause
        if failure.symptom is Symptom.TORN and place.is_local and version is None:
            return _newest_whole(opened, place, branch)
        raise _failed_opening(failure, place, version) from failure.cause
    if version is not None:
        _refuse_other(dataset, place, branch, version)
    elif place.is_local and not is_whole(dataset, lineage_directory(place, branch)):
        return _newest_whole(opened, place, branch)
    return dataset


@lru_cache(maxsize=1)
def _session(_pid: int) -> Any:
    """Give the caches of this process, which all its datasets share."""
    return _new_session()


def _newest_whole_main(place: Place, session: Any) -> LanceDataset:
    """Open the newest whole version of main, where no handle on any version is there yet."""
    for version, _ in newest_first(place.local_path):
        try:
            with lance_calls():
                dataset = lance.dataset(place.uri, version=version, session=session)
        except LanceFailure:
            continue
        return _newest_whole(dataset, place, None)
    raise CorruptDataset(place=str(place), detail="no version of it is whole")


def _newest_whole(opened: LanceDataset, place: Place, branch: str | None) -> LanceDataset:
    directory = lineage_directory(place, branch)
    for version, _ in newest_first(directory):
        if opens_whole(opened, branch, version, directory):
            emit("torn_version_passed_over", place=str(place), branch=branch, took=version)
            return opened.checkout_version((branch, version))
    detail = "no version of it is whole" if branch is None else f"nor is any of branch {branch!r}"
    raise CorruptDataset(place=str(place), detail=detail)


def _refuse_other(dataset: LanceDataset, place: Place, branch: str | None, version: int) -> None:
    if dataset.version != version:
        raise _no_version(place, branch, version)


def _refuse_moved(dataset: LanceDataset, place: Place) -> None:
    for base in dataset.base_paths().values():
        recorded = Place.parse(base.path)
        inside = recorded.key == place.key or recorded.key.startswith(f"{place.key}/")
        if not inside or (recorded.scheme, recorded.bucket) != (place.scheme, place.bucket):
            raise MovedDataset(place=str(place), recorded=str(recorded))


def _failed_opening(failure: LanceFailure, place: Place, version: int | None) -> L1Error:
    if version is None or failure.symptom is not Symptom.TORN:
        return failure.at(place)
    detail = f"the file of version {version} is damaged: {failure.words}"
    return CorruptDataset(place=str(place), detail=detail)


def _missing(storage: Storage, version: int | None) -> L1Error:
    """Tell apart: no such place, something else there, or only no such version."""
    if version is None:
        return _nothing_there(storage)
    try:
        _open_main(storage, None, _session(os.getpid()))
    except L1Error as error:
        return error
    return _no_version(storage.place, None, version)


def _no_version(place: Place, branch: str | None, version: int) -> L1Error:
    """Tell a version that is not there from one of zeros, which Lance does not find either."""
    if place.is_local:
        directory = lineage_directory(place, branch)
        if any(number == version for number, _ in newest_first(directory)):
            detail = f"the file of version {version} is damaged"
            return CorruptDataset(place=str(place), detail=detail)
    return UnknownVersion(place=str(place), branch=branch, version=version)


def _nothing_there(storage: Storage) -> L1Error:
    found = first_names(storage, _NAMES_SHOWN)
    place = str(storage.place)
    if found:
        return NotADataset(place=place, found=", ".join(found))
    return DatasetNotFound(place=place)
