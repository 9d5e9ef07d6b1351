"""A dataset at one version of one lineage, open: its metadata and its identity.

Invariant: it never moves, and threads may share it. A later version is another object. It is valid
only in the process that opened it. What is read here (columns, settings, fragments, files,
indexes) comes from the metadata of the version.

Its identity distinguishes it from another dataset at its location. If the dataset of a handle on
main was deleted, and perhaps created again, the handle raises an error before it writes. The time
and size of its version file identify it, so that a restored copy counts as the dataset. If that
file was cleaned away, the inode of the directory and the newest version identify it, which another
dataset can share by chance. In a store this would cost a request, so it is not checked there. The
identity of a branch is Lance's own record of it, read with one request: branches that had one name
at different times have different identities. A branch without a record is none, even if its files
exist: its creation was cut short.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote, unquote

import attrs
from lance import LanceDataset

from omnigraph_l1._lance.lance_failures import translate_errors
from omnigraph_l1._lance.private_hooks import column_identities, columns_of, file_name
from omnigraph_l1._lance.version_files import NamingScheme, format_name, newest_first
from omnigraph_l1._storage.location import Location, ProcessGuard, Storage
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._storage.stored_objects import all_names, read_object, translate_os_errors
from omnigraph_l1._text_encoding import decode_json, encode_json, is_text, readable
from omnigraph_l1.errors import (
    CorruptDataset,
    DatasetNotFound,
    RenamedVersions,
    StaleBranch,
    StaleDataset,
    UnknownBranch,
)

__all__ = [
    "VERSION_STORE_MARK",
    "DatasetIdentity",
    "Durability",
    "FragmentFiles",
    "IndexInfo",
    "PinnedDataset",
    "check_branch_identity",
    "check_dataset_identity",
    "check_version_names",
    "columns",
    "config",
    "count_rows",
    "fragment_files",
    "fragment_rows",
    "has_row_ids",
    "list_branch_names",
    "list_indexes",
    "physical_rows",
    "read_branch_identity",
    "read_dataset_identity",
    "same_columns",
]


VERSION_STORE_MARK: Final = "omnigraph:version_store"
"""The key of a dataset's config that names the store which decides its versions."""


class Durability(Enum):
    """What an acknowledged commit on local disk survives. Stores decide for themselves."""

    FULL = "full"
    """A power cut: files and directories are flushed before a commit is acknowledged."""
    NONE = "none"
    """A killed process, but no power cut. For data that can be made again."""


@attrs.frozen(eq=False, repr=False)
class PinnedDataset:
    """One version of one lineage of a dataset, open."""

    storage: Storage
    dataset: LanceDataset
    branch: str | None = attrs.field(kw_only=True)
    """The native branch; None is main."""
    branch_identity: str | None = attrs.field(kw_only=True)
    """Distinguishes this branch from an earlier one of the same name; None on main."""
    durability: Durability = attrs.field(kw_only=True)
    guard: ProcessGuard = attrs.field(kw_only=True)
    dataset_identity: DatasetIdentity | None = attrs.field(init=False)
    """Distinguishes this dataset from another at its location; None in a store, and on a branch."""

    @dataset_identity.default
    def _(self) -> DatasetIdentity | None:
        if self.branch is not None or not self.location.is_local:
            return None
        with translate_os_errors(self.location):
            return read_dataset_identity(self.directory, self.version)

    @property
    def location(self) -> Location:
        """Where the dataset is."""
        return self.storage.location

    @property
    def version(self) -> int:
        """The version that is open."""
        return int(self.dataset.version)

    @property
    def flushes(self) -> bool:
        """Whether commits must be flushed by us."""
        return self.location.is_local and self.durability is Durability.FULL

    @property
    def may_have_version_store(self) -> bool:
        """Whether an external manifest store may decide the versions (``s3+ddb://``).

        ``check_version_store`` finds out, and costs a request.
        """
        return bool(self.location.dynamodb_table) or VERSION_STORE_MARK in self.dataset.config()

    @property
    def directory(self) -> Path:
        """The directory of this lineage on local disk: Lance keeps branches below ``tree``."""
        return lineage_directory(self.location, self.branch)

    def check_not_stale(self) -> None:
        """Raise if this is another process, or if another dataset is at the location now."""
        self.guard.check()
        if self.dataset_identity is not None:
            check_dataset_identity(
                self.location, self.directory, self.version, self.dataset_identity
            )

    def copy_handle(self) -> LanceDataset:
        """Return a copy for a call that moves the handle, or that blocks other threads."""
        return copy.copy(self.dataset)

    def at(self, dataset: LanceDataset) -> PinnedDataset:
        """Return the same lineage at another version."""
        return attrs.evolve(self, dataset=dataset)


def lineage_directory(location: Location, branch: str | None) -> Path:
    """Return where on local disk a lineage keeps its versions and new files."""
    root = location.local_path
    return root if branch is None else root / "tree" / branch


def columns(pinned: PinnedDataset) -> Mapping[str, str]:
    """Return the identity of each column, by name: it differs if a column was dropped and added."""
    with translate_errors(pinned.location):
        return column_identities(pinned.dataset.lance_schema)


def has_row_ids(pinned: PinnedDataset) -> bool:
    """Return whether rows keep their ids when they are moved, and know when they changed."""
    with translate_errors(pinned.location):
        return pinned.dataset.has_stable_row_ids and all(
            each.metadata.last_updated_at_version_meta is not None
            for each in pinned.dataset.get_fragments()
        )


def same_columns(pinned: PinnedDataset, other: PinnedDataset) -> bool:
    """Compare columns, with the numbers by which data files name them."""
    return columns_of(pinned.dataset.lance_schema) == columns_of(other.dataset.lance_schema)


def config(pinned: PinnedDataset) -> Mapping[str, str]:
    """Return the settings of the dataset that the version records."""
    pinned.guard.check()
    with translate_errors(pinned.location):
        return MappingProxyType(dict(pinned.dataset.config()))


def fragment_rows(pinned: PinnedDataset) -> dict[int, int]:
    """Count the rows of each fragment, by its number: from metadata alone."""
    pinned.guard.check()
    with translate_errors(pinned.location):
        return {f.fragment_id: f.metadata.num_rows for f in pinned.dataset.get_fragments()}


def count_rows(pinned: PinnedDataset) -> int:
    """Count all rows."""
    pinned.guard.check()
    with translate_errors(pinned.location):
        return int(run_watched(pinned.storage, pinned.dataset.count_rows))


@attrs.frozen
class FragmentFiles:
    """The files of one fragment. A file never changes; rows are taken out of it by marking them."""

    data: tuple[str, ...]
    deletions: str | None
    """What marks rows as deleted; None if all rows are there."""
    size_bytes: int = attrs.field(default=0, eq=False)
    """How large the data files are, as far as the version says so."""

    @property
    def has_deletions(self) -> bool:
        """Whether rows are marked as deleted."""
        return self.deletions is not None


def fragment_files(pinned: PinnedDataset) -> dict[int, FragmentFiles]:
    """Return the files of each fragment, by its number: from metadata alone."""
    pinned.guard.check()
    with translate_errors(pinned.location):
        return {
            f.fragment_id: FragmentFiles(
                # Lance gives each path a class of its own, which takes kilobytes to keep.
                tuple(file_name(file) for file in f.metadata.files),
                _deletions(f.metadata.deletion_file),
                sum(file.file_size_bytes or 0 for file in f.metadata.files),
            )
            for f in pinned.dataset.get_fragments()
        }


def _deletions(file: Any | None) -> str | None:
    return None if file is None else f"{file.read_version}-{file.id}"


@attrs.frozen(kw_only=True)
class IndexInfo:
    """An index, and how much of the table it covers."""

    name: str
    columns: tuple[str, ...]
    kind: str
    parts: int
    indexed_fragments: int
    unindexed_fragments: int


def list_indexes(pinned: PinnedDataset) -> dict[str, IndexInfo]:
    """List the indexes, by name."""
    pinned.guard.check()
    present = physical_rows(pinned)
    found = {}
    with translate_errors(pinned.location):
        for description in run_watched(pinned.storage, pinned.dataset.describe_indices):
            covered = {n for part in description.segments for n in part.fragment_ids}
            found[description.name] = IndexInfo(
                name=description.name,
                columns=tuple(description.field_names),
                kind=str(description.index_type).upper(),
                parts=len(description.segments),
                indexed_fragments=len(covered & present.keys()),
                unindexed_fragments=len(present.keys() - covered),
            )
    return found


def physical_rows(pinned: PinnedDataset) -> dict[int, int]:
    """Count the rows in the files of each fragment, with those that are marked as deleted."""
    with translate_errors(pinned.location):
        return {f.fragment_id: f.physical_rows for f in pinned.dataset.get_fragments()}


@attrs.frozen(kw_only=True)
class DatasetIdentity:
    """Distinguishes the dataset of a handle from another one at the same location."""

    directory: int | None
    """The inode of the folder of versions; None if there is none."""
    file: tuple[int, int] | None
    """Time and size of the file of the version; None if it was cleaned away."""
    scheme: NamingScheme | None = None
    """How that file is named."""


def read_dataset_identity(directory: Path, version: int) -> DatasetIdentity:
    """Look at the files of a version of a lineage."""
    folder = directory / "_versions"
    try:
        inode = folder.stat().st_ino
    except (FileNotFoundError, NotADirectoryError):
        return DatasetIdentity(directory=None, file=None)
    for scheme in (NamingScheme.V2, NamingScheme.V1):
        try:
            found = (folder / format_name(version, scheme)).stat()
        except FileNotFoundError:
            continue
        return DatasetIdentity(
            directory=inode, file=(found.st_mtime_ns, found.st_size), scheme=scheme
        )
    return DatasetIdentity(directory=inode, file=None)


def check_dataset_identity(
    location: Location, directory: Path, version: int, identity: DatasetIdentity
) -> None:
    """Raise ``DatasetNotFound`` or ``StaleDataset`` if the dataset is gone, or another one."""
    with translate_os_errors(location):
        found = read_dataset_identity(directory, version)
        if found.directory is None:
            raise DatasetNotFound(location=str(location))
        same = found.file == identity.file
        if found.file is None or identity.file is None:  # cleaned away, if it is the dataset
            numbers = [number for number, _ in newest_first(directory)[:1]]
            same = found.directory == identity.directory and max(numbers, default=0) > version
    if not same:
        raise StaleDataset(location=str(location), version=version)


def check_version_names(
    location: Location, directory: Path, version: int, identity: DatasetIdentity
) -> None:
    """Refuse to write by a handle that knows the old names, where files have new ones by now."""
    if identity.scheme is not NamingScheme.V1:
        return
    with translate_os_errors(location):
        found = read_dataset_identity(directory, version)
    if found.scheme is NamingScheme.V2:
        raise RenamedVersions(location=str(location), version=version)


_RECORDS = "_refs/branches"
_SUFFIX = ".json"


def list_branch_names(storage: Storage) -> list[str]:
    """Return the names of the branches that have a record, without reading the records."""
    names = all_names(storage.child(_RECORDS))
    return sorted(unquote(name.removesuffix(_SUFFIX)) for name in names if name.endswith(_SUFFIX))


def read_branch_identity(storage: Storage, branch: str) -> str:
    """Read what identifies this branch. Raise ``UnknownBranch`` if Lance has no record of it."""
    if not is_text(branch):
        raise UnknownBranch(location=str(storage.location), branch=readable(branch))
    record = read_object(storage, f"{_RECORDS}/{quote(branch, safe='')}{_SUFFIX}")
    if record is None:
        raise UnknownBranch(location=str(storage.location), branch=branch)
    try:
        return encode_json(decode_json(record)["identifier"]["version_mapping"])
    except (ValueError, KeyError, TypeError) as error:
        detail = f"Lance's record of branch {branch!r} cannot be read"
        raise CorruptDataset(location=str(storage.location), detail=detail) from error


def check_branch_identity(storage: Storage, branch: str, identity: str) -> None:
    """Raise ``StaleBranch`` if the branch is gone, or is another one by now."""
    location = str(storage.location)
    try:
        found = read_branch_identity(storage, branch)
    except UnknownBranch as error:
        raise StaleBranch(location=location, branch=branch, reason="was deleted") from error
    if found != identity:
        reason = "was deleted and created again"
        raise StaleBranch(location=location, branch=branch, reason=reason)
