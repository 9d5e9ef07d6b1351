"""Whether what lies below a handle on local disk is still the dataset that it opened.

Always: a handle on main whose dataset was deleted, and perhaps made again, is told so before it
writes. The file of its version tells by time and size, so that a true copy that was brought back
counts as the dataset. Where that file was cleaned away, the inode of the directory and the newest
version tell, which another dataset can share by chance. In a store nothing tells it without
a request, so there it is not looked at. Branches have an identity of their own.
"""

from __future__ import annotations

from pathlib import Path

import attrs

from omnigraph_l1._lance.manifest_names import NamingScheme, format_name
from omnigraph_l1._places import Place
from omnigraph_l1._table.objects import storage_border
from omnigraph_l1._table.wholeness import newest_first
from omnigraph_l1.errors import DatasetNotFound, RenamedVersions, StaleDataset

__all__ = [
    "DatasetIdentity",
    "check_dataset_identity",
    "check_version_names",
    "read_dataset_identity",
]


@attrs.frozen(kw_only=True)
class DatasetIdentity:
    """What tells the dataset below a handle from another one at the same place."""

    directory: int | None
    """The inode of the folder of versions; None where there is none."""
    file: tuple[int, int] | None
    """Time and size of the file of the version; None where it was cleaned away."""
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
    place: Place, directory: Path, version: int, identity: DatasetIdentity
) -> None:
    """Raise ``DatasetNotFound`` or ``StaleDataset`` where the dataset is gone, or another one."""
    with storage_border(place):
        found = read_dataset_identity(directory, version)
        if found.directory is None:
            raise DatasetNotFound(place=str(place))
        same = found.file == identity.file
        if found.file is None or identity.file is None:  # cleaned away, if it is the dataset
            numbers = [number for number, _ in newest_first(directory)[:1]]
            same = found.directory == identity.directory and max(numbers, default=0) > version
    if not same:
        raise StaleDataset(place=str(place), version=version)


def check_version_names(
    place: Place, directory: Path, version: int, identity: DatasetIdentity
) -> None:
    """Refuse to write by a handle that knows the old names, where files have new ones by now."""
    if identity.scheme is not NamingScheme.V1:
        return
    with storage_border(place):
        found = read_dataset_identity(directory, version)
    if found.scheme is NamingScheme.V2:
        raise RenamedVersions(place=str(place), version=version)
