"""Removal of versions that are not needed, and of files that no version names.

Invariant: exactly the versions that are given are removed, never by age, because what a graph has
pinned is often not the newest. Only files that no version names are removed by age: Lance's week.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import attrs

from omnigraph_l1._dataset.argument_checks import parse_list, parse_version
from omnigraph_l1._dataset.dataset_opener import damaged_versions
from omnigraph_l1._dataset.dataset_opener import versions as all_versions
from omnigraph_l1._dataset.pinned_dataset import PinnedDataset
from omnigraph_l1._events import time_event
from omnigraph_l1._lance.lance_failures import (
    LanceFailure,
    Symptom,
    recognize_failures,
)
from omnigraph_l1._lance.version_files import newest_first
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._storage.stored_objects import check_tree, translate_os_errors
from omnigraph_l1._write.native_refs import list_branches, list_tags
from omnigraph_l1._write.table_commit import (
    prepare_to_write,
)
from omnigraph_l1.deadlines import RetryPolicy
from omnigraph_l1.errors import CorruptDataset, InvalidRequest, L1Error

__all__ = ["Removed", "explain_removal", "remove_orphans", "remove_versions"]

_CLEANUPS = RetryPolicy(attempts=20)
_NEVER = 2**63 - 1
"""A version that never exists: Lance requires one."""

_T = TypeVar("_T")


@attrs.frozen(kw_only=True)
class Removed:
    """What cleaning removed."""

    versions: int
    data_files: int
    bytes: int
    failed: int
    """Files that could not be removed: Lance raises nothing for them."""


def explain_removal(pinned: PinnedDataset, versions: Iterable[int]) -> Removed:
    """Return what ``remove_versions`` would remove; for none, what ``remove_orphans`` would."""
    wanted = _parse_versions(pinned, versions)
    pinned.guard.check()
    try:
        explained = _retry_if_branches_go(
            pinned,
            lambda: pinned.dataset.explain_cleanup_old_versions(versions=wanted or [_NEVER]),
        )
    except LanceFailure as failure:
        raise _removal_error(pinned, wanted, failure) from failure.cause
    return _to_removed(explained.stats)


def remove_versions(pinned: PinnedDataset, versions: Iterable[int]) -> Removed:
    """Remove versions of this lineage, and the files that only they name.

    With them go the orphans, see ``remove_orphans``.

    While a version of the lineage is damaged, it cannot be known what it names: then (on local
    disk) the versions are removed and their files stay. Removing the damaged one is the cure.
    """
    wanted = _parse_versions(pinned, versions)
    prepare_to_write(pinned)
    if not wanted:
        return Removed(versions=0, data_files=0, bytes=0, failed=0)
    return _clean(pinned, wanted)


def remove_orphans(pinned: PinnedDataset) -> Removed:
    """Remove files of this lineage that no version names, once they are a week old.

    The bound is Lance's own: younger ones may be of a writer that has not committed yet.
    """
    prepare_to_write(pinned)
    return _clean(pinned, [_NEVER])


def _clean(pinned: PinnedDataset, wanted: list[int]) -> Removed:
    if pinned.location.is_local:
        with translate_os_errors(pinned.location):
            check_tree(pinned.location.local_path)
    with time_event("remove_versions", location=str(pinned.location), count=len(wanted)):
        try:
            stats = _retry_if_branches_go(
                pinned, lambda: pinned.dataset.cleanup_old_versions(versions=wanted)
            )
        except LanceFailure as failure:
            if failure.symptom is Symptom.TORN:
                return _remove_without_files(pinned, wanted)
            raise _removal_error(pinned, wanted, failure) from failure.cause
    return _to_removed(stats)


def _retry_if_branches_go(pinned: PinnedDataset, call: Callable[[], _T]) -> _T:
    """Call Lance, which lists the branches first and fails if one of them is deleted during it."""
    for attempt in _CLEANUPS.tries():
        try:
            with recognize_failures():
                return run_watched(pinned.storage, call)
        except LanceFailure as failure:
            if attempt.is_last or not _is_vanished_ref(failure):
                raise
    raise AssertionError


def _removal_error(pinned: PinnedDataset, wanted: list[int], failure: LanceFailure) -> L1Error:
    if failure.symptom is Symptom.VERSION_TAGGED:
        return _tagged_error(pinned, wanted)
    return failure.at(pinned.location)


def _is_vanished_ref(failure: LanceFailure) -> bool:
    return failure.symptom in {Symptom.MISSING, Symptom.REF_MISSING} and "/_refs/" in failure.words


def _parse_versions(pinned: PinnedDataset, versions: Iterable[int]) -> list[int]:
    given = parse_list(versions, location=pinned.location, what="versions")
    return sorted(
        {parse_version(one, location=pinned.location, branch=pinned.branch) for one in given}
    )


def _to_removed(stats: Any) -> Removed:
    return Removed(
        versions=stats.old_versions,
        data_files=stats.data_files_removed,
        bytes=stats.bytes_removed,
        failed=stats.failed_deletes,
    )


def _remove_without_files(pinned: PinnedDataset, wanted: Sequence[int]) -> Removed:
    """Remove versions, and no other file, where a damaged one does not say which files it needs."""
    if not pinned.location.is_local:
        damaged = damaged_versions(pinned, all_versions(pinned))
        detail = f"of these versions the file is damaged: {damaged}; nothing was removed"
        raise CorruptDataset(location=str(pinned.location), detail=detail)
    tagged = {tag.version for tag in list_tags(pinned).values() if tag.branch == pinned.branch}
    if tagged.intersection(wanted):
        raise _tagged_error(pinned, wanted)
    starts = {
        branch.parent_version
        for branch in list_branches(pinned).values()
        if branch.parent_branch == pinned.branch
    }
    paths = newest_first(pinned.directory)
    spared = starts | {pinned.version, *(version for version, _ in paths[:1])}
    removable = [path for version, path in paths if version in wanted and version not in spared]
    with translate_os_errors(pinned.location):
        size = sum(path.stat().st_size for path in removable)
        for path in removable:
            path.unlink()
    return Removed(versions=len(removable), data_files=0, bytes=size, failed=0)


def _tagged_error(pinned: PinnedDataset, wanted: Sequence[int]) -> InvalidRequest:
    reason = f"a tag holds one of these versions: {wanted}; delete the tag first"
    return InvalidRequest(location=str(pinned.location), reason=reason)
