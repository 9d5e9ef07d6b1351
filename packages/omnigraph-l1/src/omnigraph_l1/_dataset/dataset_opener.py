"""Opening a dataset: at the head of a lineage, at a version, or later at a newer one.

Invariants: what is opened is whole and is what was asked for. Where a power cut left damage at the
head of a lineage on local disk, readers get the newest whole version. A branch whose creation was
cut short is not opened. A branch whose dataset was moved is refused, because Lance would read the
files of the place it came from. On local disk, what a version names is below the location from
which the dataset is opened, and so are the folders in which Lance writes and removes files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

import attrs
import lance
from lance import LanceDataset

from omnigraph_l1._dataset.argument_checks import parse_version
from omnigraph_l1._dataset.durability import is_intact, opens_intact
from omnigraph_l1._dataset.pinned_dataset import (
    DatasetIdentity,
    Durability,
    PinnedDataset,
    check_branch_identity,
    check_dataset_identity,
    lineage_directory,
    read_branch_identity,
)
from omnigraph_l1._events import emit, time_event
from omnigraph_l1._lance.lance_failures import (
    LanceFailure,
    Symptom,
    is_store_failure,
    recognize_failures,
    translate_errors,
)
from omnigraph_l1._lance.private_hooks import file_name, new_session
from omnigraph_l1._lance.version_files import (
    VERSIONS,
    NamingScheme,
    format_name,
    newest_after,
    newest_first,
    version_file,
)
from omnigraph_l1._storage.location import Location, ProcessGuard, Storage
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._storage.stored_objects import (
    check_directories,
    check_files,
    check_tree,
    first_names,
    read_object,
    translate_os_errors,
)
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
    "remember_new_names",
    "versions",
]

_ABSENT = frozenset({Symptom.DATASET_MISSING, Symptom.VERSION_MISSING, Symptom.MISSING})
_NAMES_SHOWN = 3
_LEFT_BY_CREATION = frozenset({"_transactions", "_versions"})
"""What a creation leaves that was cut short before its first version: the next one starts over."""
_METADATA_CACHE_BYTES: Final = 16 * 1024 * 1024
_INDEX_CACHE_BYTES: Final = 256 * 1024 * 1024


def _new_session() -> Any:
    return new_session(metadata_bytes=_METADATA_CACHE_BYTES, index_bytes=_INDEX_CACHE_BYTES)


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
) -> PinnedDataset:
    """Open a lineage at a version, or at its head where no version is given."""
    location = storage.location
    if version is not None:
        version = parse_version(version, location=location, branch=branch)
    with (
        time_event("open", location=str(location), branch=branch) as event,
        translate_errors(location),
    ):
        _check_folders(storage, None)
        identity = None
        if branch is not None:
            identity = read_branch_identity(storage, branch)
            _check_folders(storage, branch)
        session = _session(os.getpid()) if caches is None else caches._session  # noqa: SLF001
        dataset = _open_main(storage, version if branch is None else None, session)
        if branch is not None:
            dataset = _checkout(dataset, storage, branch, version)
            _refuse_moved(dataset, location)
        _check_named_files(storage, branch, dataset)
        _check_indexes(storage, branch, dataset)
        event["version"] = dataset.version
    return PinnedDataset(
        storage,
        dataset,
        branch=branch,
        branch_identity=identity,
        durability=durability,
        guard=ProcessGuard(f"The table handle on {location}"),
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
    def of(cls, pinned: PinnedDataset) -> Recipe:
        """Write down what is pinned."""
        return cls(**{field.name: getattr(pinned, field.name) for field in attrs.fields(cls)})

    def open(self) -> PinnedDataset:
        """Open it; ``StaleBranch`` or ``StaleDataset`` if another is in its place."""
        if self.branch is not None and self.branch_identity is not None:
            check_branch_identity(self.storage, self.branch, self.branch_identity)
        pinned = open_pinned(
            self.storage, branch=self.branch, version=self.version, durability=self.durability
        )
        if self.dataset_identity is not None:
            check_dataset_identity(
                pinned.location, pinned.directory, self.version, self.dataset_identity
            )
        return pinned


def latest(pinned: PinnedDataset) -> PinnedDataset:
    """Look for a newer version of the lineage: one request where there is none."""
    pinned.check_not_stale()
    if pinned.location.is_local:
        near = newest_after(pinned.directory, pinned.version)
        if near == pinned.version:
            return pinned
        with translate_errors(pinned.location):
            if near is not None and opens_intact(
                pinned.dataset, pinned.branch, near, pinned.directory
            ):
                return at_version(pinned, near)
    try:
        with recognize_failures():
            newest = run_watched(pinned.storage, lambda: pinned.dataset.latest_version)
    except LanceFailure as failure:
        if failure.symptom in _ABSENT:
            raise DatasetNotFound(location=str(pinned.location)) from failure.cause
        raise failure.at(pinned.location) from failure.cause
    if newest == pinned.version:
        return pinned
    if newest < pinned.version:
        raise _fewer_versions(pinned)
    with translate_errors(pinned.location):
        dataset = _checkout(pinned.dataset, pinned.storage, pinned.branch, None)
    return pinned.at(dataset)


def _fewer_versions(pinned: PinnedDataset) -> L1Error:
    """Return the error for a head older than what is open: version numbers only grow."""
    location = str(pinned.location)
    if pinned.branch is None:
        return StaleDataset(location=location, version=pinned.version)
    return StaleBranch(
        location=location, branch=pinned.branch, reason="was deleted and created again"
    )


def at_version(pinned: PinnedDataset, version: int) -> PinnedDataset:
    """Open another version of the same lineage, with what is cached already."""
    pinned.check_not_stale()
    version = parse_version(version, location=pinned.location, branch=pinned.branch)
    with translate_errors(pinned.location):
        dataset = _checkout(pinned.dataset, pinned.storage, pinned.branch, version)
        _check_named_files(pinned.storage, pinned.branch, dataset)
    return pinned.at(dataset)


_new_names: set[Storage] = set()
"""Datasets in stores that have version names of the new kind: they never get old ones again."""


def remember_new_names(storage: Storage) -> None:
    """Note that this process made the dataset, so that it need not ask for the kind of names."""
    _new_names.add(storage)


def manifest_path(pinned: PinnedDataset) -> str:
    """Return the path of the pinned version's file, inside its bucket, without a leading slash.

    In a store this costs a request for each dataset, once in a process if its names are new. Lance
    gives new names to the versions of all branches.
    """
    key, storage = pinned.location.key, pinned.storage
    if pinned.location.is_local:
        path = version_file(pinned.directory, pinned.version)
        return f"{key}/{path.relative_to(pinned.location.local_path).as_posix()}"
    if pinned.branch is not None:
        return f"{key}/tree/{pinned.branch}/{VERSIONS}/{format_name(pinned.version)}"
    old = format_name(pinned.version, NamingScheme.V1)
    if storage not in _new_names:
        if read_object(storage, f"{VERSIONS}/{old}") is not None:
            return f"{key}/{VERSIONS}/{old}"
        _new_names.add(storage)
    return f"{key}/{VERSIONS}/{format_name(pinned.version)}"


def versions(pinned: PinnedDataset) -> list[int]:
    """List the versions of the lineage that are left, oldest first."""
    pinned.guard.check()
    with translate_errors(pinned.location):
        listed = run_watched(pinned.storage, lambda: list(pinned.dataset.version_refs()))
    return sorted(entry["version"] for entry in listed)


def damaged_versions(pinned: PinnedDataset, among: Iterable[int]) -> list[int]:
    """Return which of these versions are there and cannot be opened. Each costs a request."""
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
    location = storage.location
    if location.is_local and not location.local_path.is_dir():
        # Lance would retry for seconds before it says so.
        raise _nothing_there(storage)
    try:
        with recognize_failures():
            dataset = run_watched(
                storage,
                lambda: LanceDataset(
                    location.uri,
                    version=version,
                    storage_options=storage.lance_options,
                    session=session,
                ),
            )
    except LanceFailure as failure:
        if failure.symptom in _ABSENT:
            raise _missing(storage, version) from failure.cause
        if failure.symptom is Symptom.TORN and location.is_local and version is None:
            return _newest_intact_main(storage.location, session)
        raise _failed_opening(failure, location, version) from failure.cause
    if version is not None:
        _refuse_other(dataset, location, None, version)
    elif location.is_local and not is_intact(dataset, location.local_path):
        return _newest_intact_main(location, session)
    return dataset


def _checkout(
    opened: LanceDataset, storage: Storage, branch: str | None, version: int | None
) -> LanceDataset:
    """Check out a lineage."""
    location = storage.location
    try:
        with recognize_failures():
            dataset = run_watched(storage, lambda: opened.checkout_version((branch, version)))
    except LanceFailure as failure:
        if version is not None and failure.symptom in _ABSENT:
            raise _no_version(location, branch, version) from failure.cause
        if failure.symptom is Symptom.TORN and location.is_local and version is None:
            return _newest_intact(opened, location, branch)
        raise _failed_opening(failure, location, version) from failure.cause
    if version is not None:
        _refuse_other(dataset, location, branch, version)
    elif location.is_local and not is_intact(dataset, lineage_directory(location, branch)):
        return _newest_intact(opened, location, branch)
    return dataset


@lru_cache(maxsize=1)
def _session(_pid: int) -> Any:
    """Return the caches of this process, which all its datasets share."""
    return _new_session()


def _newest_intact_main(location: Location, session: Any) -> LanceDataset:
    """Open the newest whole version of main, where no handle on any version is there yet."""
    for version, _ in newest_first(location.local_path):
        try:
            with recognize_failures():
                dataset = lance.dataset(location.uri, version=version, session=session)
        except LanceFailure as failure:
            if is_store_failure(failure):
                raise  # an older version is not what was asked for
            continue
        return _newest_intact(dataset, location, None)
    raise CorruptDataset(location=str(location), detail="no version of it is whole")


def _newest_intact(opened: LanceDataset, location: Location, branch: str | None) -> LanceDataset:
    directory = lineage_directory(location, branch)
    for version, _ in newest_first(directory):
        if opens_intact(opened, branch, version, directory):
            emit("torn_version_passed_over", location=str(location), branch=branch, took=version)
            return opened.checkout_version((branch, version))
    detail = "no version of it is whole" if branch is None else f"nor is any of branch {branch!r}"
    raise CorruptDataset(location=str(location), detail=detail)


def _refuse_other(
    dataset: LanceDataset, location: Location, branch: str | None, version: int
) -> None:
    if dataset.version != version:
        raise _no_version(location, branch, version)


def _failed_opening(failure: LanceFailure, location: Location, version: int | None) -> L1Error:
    if version is None or failure.symptom is not Symptom.TORN:
        return failure.at(location)
    detail = f"the file of version {version} is damaged: {failure.words}"
    return CorruptDataset(location=str(location), detail=detail)


def _missing(storage: Storage, version: int | None) -> L1Error:
    """Return the error for a missing version: no location, not a dataset, or no such version."""
    if version is None:
        return _nothing_there(storage)
    try:
        _open_main(storage, None, _session(os.getpid()))
    except L1Error as error:
        return error
    return _no_version(storage.location, None, version)


def _no_version(location: Location, branch: str | None, version: int) -> L1Error:
    """Return the error for a version that is missing, or whose file is zeros."""
    if location.is_local:
        directory = lineage_directory(location, branch)
        if any(number == version for number, _ in newest_first(directory)):
            detail = f"the file of version {version} is damaged"
            return CorruptDataset(location=str(location), detail=detail)
    return UnknownVersion(location=str(location), branch=branch, version=version)


def _nothing_there(storage: Storage) -> L1Error:
    found = first_names(storage, _NAMES_SHOWN)
    location = str(storage.location)
    if not _LEFT_BY_CREATION.issuperset(found):
        return NotADataset(location=location, found=", ".join(found))
    return DatasetNotFound(location=location)


_LANCE_FOLDERS = ("_versions", "_transactions", "data", "_deletions", "_indices")
_REFS = ("_refs/branches", "_refs/tags")


def _check_folders(storage: Storage, branch: str | None) -> None:
    """Raise ``UnsafePath`` if a folder that Lance uses for a lineage is not a real one."""
    if not storage.location.is_local:
        return
    top, below = storage.contained_in
    main = f"{below}/" if below else ""
    names = [main + each for each in (*_LANCE_FOLDERS, *_REFS)]
    if branch is not None:
        names += [f"{main}tree/{branch}/{each}" for each in _LANCE_FOLDERS]
    with translate_os_errors(storage.location):
        check_directories(top, names)


def _check_named_files(storage: Storage, branch: str | None, dataset: LanceDataset) -> None:
    """Raise ``UnsafePath`` if what a version names is not a file of the dataset.

    A dataset by itself may be a shallow clone of another one; one of a repository may not.
    """
    location = storage.location
    if storage.is_child:
        _refuse_moved(dataset, location)
    if not location.is_local:
        return
    root = location.local_path
    own = str(root if branch is None else root / "tree" / branch)
    bases: dict[int | None, str] = {None: own}
    for number, base in dataset.base_paths().items():
        bases[number] = str(Location.parse(base.path).local_path)
    names = [f"{own}/{VERSIONS}/{format_name(dataset.version, each)}" for each in NamingScheme]
    for fragment in dataset.get_fragments():
        metadata = fragment.metadata
        names += [f"{bases[file.base_id]}/data/{file_name(file)}" for file in metadata.files]
        deletions = metadata.deletion_file
        if deletions is not None:
            names.append(f"{bases[deletions.base_id]}/{deletions.path(fragment.fragment_id)}")
    with translate_os_errors(location):
        check_files(names)


def _check_indexes(storage: Storage, branch: str | None, dataset: LanceDataset) -> None:
    """Raise ``UnsafePath`` if a file of an index is not a file of the dataset."""
    location = storage.location
    if not location.is_local:
        return
    root = location.local_path
    own = root if branch is None else root / "tree" / branch
    with translate_errors(location):
        parts = [part for one in dataset.describe_indices() for part in one.segments]
    with translate_os_errors(location):
        for part in parts:
            if part.base_id is not None:
                continue  # it was checked where it was made: on the lineage of that base
            check_directories(own, [f"_indices/{part.uuid}"])
            check_tree(own / "_indices" / str(part.uuid))


def _refuse_moved(dataset: LanceDataset, location: Location) -> None:
    """Raise ``MovedDataset`` if the dataset refers to files of another location."""
    for base in dataset.base_paths().values():
        recorded = Location.parse(base.path)
        inside = recorded.key == location.key or recorded.key.startswith(f"{location.key}/")
        if not inside or (recorded.scheme, recorded.bucket) != (location.scheme, location.bucket):
            raise MovedDataset(location=str(location), recorded=str(recorded))
