"""Damaged newest versions on local disk, as a power cut leaves them.

Always: only a version that cannot have been acknowledged is passed over or set aside, because an
acknowledged one was flushed first. Setting aside renames, under a lock of the kernel, after
looking again under that lock: of two writers that saw the same damage, none can hit the whole
version that the other wrote since. Nothing is deleted.

Damage is a version file that is empty, cut short or zeros (Lance opens zeros as an empty "version
0"), or a whole one whose own data is not there as recorded. The latter only where the data was not
flushed before the version was committed, which our commits note in their record: what was flushed
and is damaged now was acknowledged, and is told as corruption when it is read. A merge in one step
(``merging``) can note nothing: its data is flushed afterwards, and then its version file is marked
by taking away the right to write it, which costs no flush and goes away with the file. Lance keeps
no checksums: unflushed data of which a power cut left zeros that can be read as values is not found
out.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import lance
from lance import LanceDataset

from omnigraph_l1._events import emit
from omnigraph_l1._lance.failures import LanceFailure, Symptom, lance_calls
from omnigraph_l1._lance.manifest_names import NamingScheme, format_name, parse_name
from omnigraph_l1._lance.transactions import read_transaction
from omnigraph_l1._ulid import new_ulid

__all__ = [
    "FLUSHED_PROPERTY",
    "has_torn_head",
    "is_newest",
    "is_whole",
    "mark_flushed",
    "newest_after",
    "newest_first",
    "opens_whole",
    "set_torn_aside",
]

_NEW_FIRST = (NamingScheme.V2, NamingScheme.V1)
_VERSIONS = "_versions"
_DATA_MAGIC = b"LANC"
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
# Missing: another writer set it aside between its listing and its opening.
_NOT_WHOLE = frozenset(
    {Symptom.TORN, Symptom.VERSION_MISSING, Symptom.DATASET_MISSING, Symptom.MISSING}
)

_LOOKED_AHEAD = 64
_YOUNG_SECONDS = 3_600.0
_SMALL = 16 * 1024 * 1024
"""Up to so many bytes of unflushed data are read to see whether they can be: a merge is small."""

FLUSHED_PROPERTY = "omnigraph.flushed"
"""Where this stands in the record of a commit, its data was flushed before it was committed."""


def newest_first(directory: Path) -> list[tuple[int, Path]]:
    """List the version files of a lineage, the newest first."""
    found = []
    try:
        with os.scandir(directory / _VERSIONS) as entries:
            for entry in entries:
                parsed = parse_name(entry.name)
                if parsed is not None:
                    found.append((parsed[1], Path(entry.path)))
    except FileNotFoundError:
        return []
    return sorted(found, reverse=True)


def is_newest(directory: Path, version: int) -> bool:
    """Tell, without listing, whether a version of ours is surely the newest file of its lineage.

    False where that is not sure: then a listing tells. Its cost does not grow with the history.
    """
    return newest_after(directory, version) == version


def newest_after(directory: Path, version: int) -> int | None:
    """Find the newest version file from one on that is there; None where that one is not.

    Cost follows how far it is ahead, not the history. A power cut can lose the name of a version
    and keep that of a later one, but not over so many as are looked at in one go. Cleaning can
    leave one version alone, and many gone after it, but not where that one is young: behind an old
    one the whole folder is looked at.
    """
    folder = os.fspath(directory / _VERSIONS)

    def is_there(number: int) -> bool:
        return os.path.exists(f"{folder}/{format_name(number)}")  # noqa: PTH110 - hot

    if not is_there(version):
        return None
    newest = version
    while further := max(
        filter(is_there, range(newest + 1, newest + 1 + _LOOKED_AHEAD)), default=0
    ):
        newest = further
    with suppress(FileNotFoundError):  # cleaned up at this moment
        written = os.stat(f"{folder}/{format_name(newest)}").st_mtime  # noqa: PTH116 - hot
        if 0 <= time.time() - written < _YOUNG_SECONDS:
            return newest
    return max((number for number, _ in newest_first(directory)[:1]), default=None)


def is_whole(dataset: LanceDataset, directory: Path) -> bool:
    """Tell whether the version that is open can have been acknowledged."""
    if dataset.version < 1:
        return False
    recorded = {
        directory / "data" / name: size for name, size in _unflushed_files(dataset, directory)
    }
    if not recorded:
        return True
    try:
        if not all(_ends_well(path, size) for path, size in recorded.items()):
            return False
    except FileNotFoundError:
        # Where others went on and cleaned up meanwhile, it was whole when it was opened.
        return not _is_newest(dataset, directory)
    return sum(recorded.values()) > _SMALL or _can_be_read(dataset, {p.name for p in recorded})


def mark_flushed(directory: Path, version: int) -> None:
    """Note of a version that what it names was flushed after it was committed.

    Where it cannot be noted, it only stays unknown.
    """
    path = _version_file(directory, version)
    with suppress(OSError):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_WRITABLE)


def _is_marked(directory: Path, version: int) -> bool:
    try:
        return not _version_file(directory, version).stat().st_mode & _WRITABLE
    except FileNotFoundError:
        return False


def _version_file(directory: Path, version: int) -> Path:
    paths = [directory / _VERSIONS / format_name(version, scheme) for scheme in _NEW_FIRST]
    return next((path for path in paths if path.exists()), paths[0])


def _unflushed_files(dataset: LanceDataset, directory: Path) -> list[tuple[str, int]]:
    """Name the data files that came with this very version unflushed, with recorded sizes."""
    if _is_marked(directory, dataset.version):
        return []
    try:
        transaction = read_transaction(dataset, dataset.version)
    except LanceFailure:
        return []  # without its record we know nothing of the version that speaks against it
    if transaction is None or FLUSHED_PROPERTY in (transaction.transaction_properties or {}):
        return []
    operation = transaction.operation
    return [
        (file.path, file.file_size_bytes)
        for fragment in (
            *getattr(operation, "fragments", ()),
            *getattr(operation, "new_fragments", ()),
        )
        for file in fragment.files
        if file.base_id is None and file.file_size_bytes
    ]


def _ends_well(path: Path, size: int) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) != size:
            return False
        file.seek(-len(_DATA_MAGIC), os.SEEK_END)
        return file.read() == _DATA_MAGIC


def _can_be_read(dataset: LanceDataset, names: set[str]) -> bool:
    fragments = [
        fragment
        for fragment in dataset.get_fragments()
        if any(file.path in names for file in fragment.metadata.files)
    ]
    try:
        with lance_calls():
            for _ in dataset.scanner(fragments=fragments).to_batches():
                pass
    except LanceFailure:
        return False
    return True


def _is_newest(dataset: LanceDataset, directory: Path) -> bool:
    return is_newest(directory, dataset.version) or (
        [number for number, _ in newest_first(directory)[:1]] == [dataset.version]
    )


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def set_torn_aside(opened: LanceDataset | None, branch: str | None, directory: Path) -> list[Path]:
    """Rename damaged newest version files, so that Lance commits above the newest whole one.

    ``opened`` is any open handle on the dataset; None means that no version of it can be opened.
    A lineage that is deleted meanwhile has nothing that could be in the way.
    """
    moved: list[Path] = []
    with suppress(FileNotFoundError), _locked(directory / _VERSIONS):
        for version, path in newest_first(directory):
            if _found_whole(opened, branch, version, directory):
                break
            aside = path.with_name(f"{path.name}.torn-{new_ulid().lower()}")
            path.rename(aside)
            moved.append(aside)
            emit("torn_version_set_aside", directory=str(directory), version=version)
    return moved


def _found_whole(
    opened: LanceDataset | None, branch: str | None, version: int, directory: Path
) -> bool:
    if opened is not None:
        return opens_whole(opened, branch, version, directory)
    try:
        with lance_calls():
            dataset = lance.dataset(str(directory), version=version)
    except LanceFailure:
        return False
    return dataset.version == version and is_whole(dataset, directory)


def has_torn_head(opened: LanceDataset, branch: str | None, directory: Path) -> bool:
    """Tell whether the newest version is damaged. One that is open is not looked at again."""
    if is_newest(directory, opened.version):
        return False
    newest = newest_first(directory)[:1]
    return (
        bool(newest)
        and newest[0][0] > opened.version
        and not opens_whole(opened, branch, newest[0][0], directory)
    )


def opens_whole(opened: LanceDataset, branch: str | None, version: int, directory: Path) -> bool:
    """Tell whether a version opens as itself and is whole."""
    try:
        with lance_calls():
            dataset = opened.checkout_version((branch, version))
    except LanceFailure as failure:
        if failure.symptom in _NOT_WHOLE:
            return False
        raise
    return dataset.version == version and is_whole(dataset, directory)
