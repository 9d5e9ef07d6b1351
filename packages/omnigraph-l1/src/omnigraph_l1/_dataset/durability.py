"""What a commit on local disk survives: flush it, and recognise what a power cut left of others.

Invariant of flushing (``Durability.FULL``; a store does it itself): the files of a staged change
are flushed before it is committed, so no version that anyone can see names a file of it that a
power cut could take. The version itself is flushed before the commit is acknowledged. ``cas_merge``
cannot be staged: its files are flushed afterwards, together with all others of that version which
this process did not flush before, and then its version file is marked by taking away the right to
write it, which costs no flush and goes away with the file.

Invariant of damaged newest versions: only a version that cannot have been acknowledged is passed
over or set aside, because an acknowledged one was flushed first. Setting aside renames, under a
lock of the kernel, after looking again under that lock: of two writers that saw the same damage,
none can hit the whole version that the other wrote since. Nothing is deleted.

Damage is a version file that is empty, cut short or zeros (Lance opens zeros as an empty "version
0"), or a whole one whose own data is not there as recorded. The latter only if the data was not
flushed before the version was committed, which our commits note in their record: what was flushed
and is damaged now was acknowledged, and is reported as corruption when it is read. Lance keeps no
checksums: unflushed data of which a power cut left zeros that can be read as values is not
detected.
"""

from __future__ import annotations

import fcntl
import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import lance
from lance import LanceDataset

from omnigraph_l1._dataset.pinned_dataset import PinnedDataset
from omnigraph_l1._events import emit
from omnigraph_l1._lance.lance_failures import (
    LanceFailure,
    Symptom,
    is_store_failure,
    recognize_failures,
    translate_errors,
)
from omnigraph_l1._lance.private_hooks import file_name
from omnigraph_l1._lance.transaction_records import read_transaction
from omnigraph_l1._lance.version_files import (
    VERSIONS,
    NamingScheme,
    format_name,
    is_newest,
    newest_first,
    version_file,
)
from omnigraph_l1._storage.stored_objects import sync_directories, sync_files, translate_os_errors
from omnigraph_l1._text_encoding import new_ulid
from omnigraph_l1.errors import L1Error, OutcomeUnknown

__all__ = [
    "FLUSHED_PROPERTY",
    "flush_everything_named",
    "flush_files",
    "flush_indexes",
    "flush_version",
    "has_torn_head",
    "is_intact",
    "make_durable",
    "mark_flushed",
    "opens_intact",
    "remember_durable",
    "set_aside_torn_versions",
]

_DATA_MAGIC = b"LANC"
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
# Missing: another writer set it aside between its listing and its opening.
_NOT_WHOLE = frozenset(
    {Symptom.TORN, Symptom.VERSION_MISSING, Symptom.DATASET_MISSING, Symptom.MISSING}
)

_SMALL = 16 * 1024 * 1024
"""Up to so many bytes of unflushed data are read to see whether they can be: a merge is small."""

FLUSHED_PROPERTY = "omnigraph.flushed"
"""Where this stands in the record of a commit, its data was flushed before it was committed."""

_lock = threading.Lock()
_flushed: dict[Path, frozenset[Path]] = {}
_durable: OrderedDict[tuple[Path, int], None] = OrderedDict()
_MOST_REMEMBERED = 4_096


def flush_files(pinned: PinnedDataset, names: Iterable[Path]) -> None:
    """Flush files of the lineage, named relative to its directory."""
    if pinned.flushes:
        directory = pinned.directory
        paths = [directory / name for name in names]
        with translate_os_errors(pinned.location):
            sync_files(paths)
            # The directory of the files may itself be new.
            sync_directories({path.parent.parent for path in paths} | {directory})


def flush_version(pinned: PinnedDataset) -> None:
    """Flush the file of the version that is open. It holds the record of its transaction too.

    Where it was cleaned away, others have gone on from it.
    """
    names = (format_name(pinned.version, scheme) for scheme in NamingScheme)
    _flush_present(pinned, [Path(VERSIONS) / name for name in names])


@contextmanager
def flushing_written(pinned: PinnedDataset, write_id: str) -> Iterator[None]:
    """Raise ``OutcomeUnknown`` if a version that was just written cannot be flushed.

    It is visible by then, and perhaps not durable; or it is gone again, with its branch.
    """
    try:
        yield
    except L1Error as error:
        raise OutcomeUnknown(
            location=str(pinned.location), write_id=write_id, detail=str(error)
        ) from error


def flush_indexes(pinned: PinnedDataset) -> None:
    """Flush the files of all indexes: a compaction rewrites those that it touches."""
    if pinned.flushes:
        with translate_errors(pinned.location):
            parts = [part for one in pinned.dataset.describe_indices() for part in one.segments]
        root = pinned.directory
        folders = [root / "_indices" / str(part.uuid) for part in parts if part.base_id is None]
        files = [path for folder in folders for path in folder.glob("*")]
        _flush_present(pinned, [path.relative_to(root) for path in files])


def _flush_present(pinned: PinnedDataset, names: Iterable[Path]) -> None:
    if pinned.flushes:
        flush_files(pinned, [name for name in names if (pinned.directory / name).exists()])


def flush_everything_named(pinned: PinnedDataset) -> None:
    """Flush each data and deletion file that the open version names, unless done before."""
    if not pinned.flushes:
        return
    directory = pinned.directory
    named = frozenset(_named_files(pinned))
    with _lock:
        done = _flushed.get(directory, frozenset())
    _flush_present(pinned, named - done)
    with _lock:
        _flushed[directory] = named


def make_durable(pinned: PinnedDataset) -> None:
    """Flush what the open version names, unless its author did that before it was committed.

    A writer with another durability leaves versions that a power cut can take. Whatever is built on
    one, or refers to it, would be lost with it.
    """
    if not pinned.flushes or _is_known_durable(pinned):
        return
    if not _was_flushed(pinned):
        _flush_present(pinned, _named_files(pinned))
        flush_indexes(pinned)
        flush_version(pinned)
    remember_durable(pinned)


def remember_durable(pinned: PinnedDataset) -> None:
    """Remember that this process has flushed all that a version names."""
    if pinned.flushes:
        with _lock:
            _durable[pinned.directory, pinned.version] = None
            while len(_durable) > _MOST_REMEMBERED:
                _durable.popitem(last=False)


def _is_known_durable(pinned: PinnedDataset) -> bool:
    with _lock:
        return (pinned.directory, pinned.version) in _durable


def _was_flushed(pinned: PinnedDataset) -> bool:
    """Return whether a version was flushed whole: its data, and what it was committed on."""
    if _is_marked(pinned.directory, pinned.version):
        return True
    try:
        record = read_transaction(pinned.dataset, pinned.version)
    except LanceFailure:
        return False
    return (
        record is not None
        and FLUSHED_PROPERTY in (record.transaction_properties or {})
        # Else Lance has put it on top of what another writer committed in between.
        and record.read_version == pinned.version - 1
    )


def _named_files(pinned: PinnedDataset) -> Iterable[Path]:
    for fragment in pinned.dataset.get_fragments():
        for file in fragment.metadata.files:
            if file.base_id is None:
                yield Path("data") / file_name(file)
        deletions = fragment.metadata.deletion_file
        if deletions is not None and deletions.base_id is None:
            yield Path(deletions.path(fragment.fragment_id))


def mark_flushed(directory: Path, version: int) -> None:
    """Note of a version that what it names was flushed after it was committed.

    Where it cannot be noted, it only stays unknown.
    """
    path = version_file(directory, version)
    with suppress(OSError):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_WRITABLE)


def is_intact(dataset: LanceDataset, directory: Path) -> bool:
    """Return whether the version that is open can have been acknowledged."""
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
        # If others went on and cleaned up since, it was whole when it was opened.
        return not _is_newest(dataset, directory)
    return sum(recorded.values()) > _SMALL or _can_be_read(dataset, {p.name for p in recorded})


def _is_marked(directory: Path, version: int) -> bool:
    try:
        return not version_file(directory, version).stat().st_mode & _WRITABLE
    except FileNotFoundError:
        return False


def _unflushed_files(dataset: LanceDataset, directory: Path) -> list[tuple[str, int]]:
    """Return the data files that came unflushed with this very version, with recorded sizes."""
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
        (file_name(file), file.file_size_bytes)
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
        if any(file_name(file) in names for file in fragment.metadata.files)
    ]
    try:
        with recognize_failures():
            for _ in dataset.scanner(fragments=fragments).to_batches():
                pass
    except LanceFailure as failure:
        if is_store_failure(failure):
            raise
        return False
    return True


def _is_newest(dataset: LanceDataset, directory: Path) -> bool:
    return is_newest(directory, dataset.version) or (
        [number for number, _ in newest_first(directory)[:1]] == [dataset.version]
    )


@contextmanager
def _lock_directory(directory: Path) -> Iterator[None]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def set_aside_torn_versions(
    opened: LanceDataset | None, branch: str | None, directory: Path
) -> list[Path]:
    """Rename damaged newest version files, so that Lance commits above the newest whole one.

    ``opened`` is any open handle on the dataset; None means that no version of it can be opened.
    A lineage that is deleted during this has nothing left to set aside.
    """
    moved: list[Path] = []
    with suppress(FileNotFoundError), _lock_directory(directory / VERSIONS):
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
        return opens_intact(opened, branch, version, directory)
    try:
        with recognize_failures():
            dataset = lance.dataset(str(directory), version=version)
    except LanceFailure as failure:
        if is_store_failure(failure):
            raise
        return False
    return dataset.version == version and is_intact(dataset, directory)


def has_torn_head(opened: LanceDataset, branch: str | None, directory: Path) -> bool:
    """Return whether the newest version is damaged. One that is open is not looked at again."""
    if is_newest(directory, opened.version):
        return False
    newest = newest_first(directory)[:1]
    return (
        bool(newest)
        and newest[0][0] > opened.version
        and not opens_intact(opened, branch, newest[0][0], directory)
    )


def opens_intact(opened: LanceDataset, branch: str | None, version: int, directory: Path) -> bool:
    """Return whether a version opens as itself and is whole."""
    try:
        with recognize_failures():
            dataset = opened.checkout_version((branch, version))
    except LanceFailure as failure:
        if failure.symptom in _NOT_WHOLE:
            return False
        raise
    return dataset.version == version and is_intact(dataset, directory)
