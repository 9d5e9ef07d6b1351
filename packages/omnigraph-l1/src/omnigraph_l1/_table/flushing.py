"""Bringing what a commit wrote to the platter, where that is ours to do (local disk, "full").

Always: the files of a staged change are flushed before it is committed, so no version that anyone
can see names a file of it that a power cut could take; the version itself is flushed before the
commit is acknowledged. One commit of Lance's cannot be staged (``exclusively``): its files are
flushed together with all others of that version which this process did not flush before.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path

from omnigraph_l1._durable import sync_directories, sync_files
from omnigraph_l1._lance.failures import lance_border
from omnigraph_l1._lance.manifest_names import NamingScheme, format_name
from omnigraph_l1._table.objects import storage_border
from omnigraph_l1._table.pinned import Pinned
from omnigraph_l1._table.staging import Staged

__all__ = [
    "flush_everything_named",
    "flush_files",
    "flush_indexes",
    "flush_staged",
    "flush_version",
]

_lock = threading.Lock()
_flushed: dict[Path, frozenset[Path]] = {}


def flush_staged(pinned: Pinned, staged: Staged) -> None:
    """Flush the files that came with a staged change."""
    flush_files(pinned, staged.new_files())


def flush_files(pinned: Pinned, names: Iterable[Path]) -> None:
    """Flush files of the lineage, named relative to its directory."""
    if pinned.flushes:
        directory = pinned.directory
        paths = [directory / name for name in names]
        with storage_border(pinned.place):
            sync_files(paths)
            # The directory of the files may itself be new.
            sync_directories({path.parent.parent for path in paths} | {directory})


def flush_version(pinned: Pinned) -> None:
    """Flush the file of the version that is open. It holds the record of its transaction too.

    Where it was cleaned away, others have gone on from it.
    """
    names = (format_name(pinned.version, scheme) for scheme in NamingScheme)
    _flush_present(pinned, [Path("_versions") / name for name in names])


def flush_indexes(pinned: Pinned) -> None:
    """Flush the files of all indexes: a compaction writes those that it touches anew."""
    if pinned.flushes:
        with lance_border(pinned.place):
            parts = [part for one in pinned.dataset.describe_indices() for part in one.segments]
        root = pinned.directory
        folders = [root / "_indices" / str(part.uuid) for part in parts if part.base_id is None]
        files = [path for folder in folders for path in folder.glob("*")]
        _flush_present(pinned, [path.relative_to(root) for path in files])


def _flush_present(pinned: Pinned, names: Iterable[Path]) -> None:
    if pinned.flushes:
        flush_files(pinned, [name for name in names if (pinned.directory / name).exists()])


def flush_everything_named(pinned: Pinned) -> None:
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


def _named_files(pinned: Pinned) -> Iterable[Path]:
    for fragment in pinned.dataset.get_fragments():
        for file in fragment.metadata.files:
            if file.base_id is None:
                yield Path("data") / file.path
        deletions = fragment.metadata.deletion_file
        if deletions is not None and deletions.base_id is None:
            yield Path(deletions.path(fragment.fragment_id))
