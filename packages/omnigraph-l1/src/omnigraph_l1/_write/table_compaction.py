"""Compaction of small fragments, and removal of versions and files that are not needed.

Invariant: compaction changes no row, and says whether anything but it went into the new version; it
writes its files first and commits them once. Cleaning removes exactly the versions that it is
given, never by age, because what a graph has pinned is often not the newest. Only files that no
version names are removed by age.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import attrs
from lance import LanceDataset
from lance.optimize import Compaction

from omnigraph_l1._dataset.argument_checks import parse_count, parse_list, parse_version
from omnigraph_l1._dataset.dataset_opener import damaged_versions
from omnigraph_l1._dataset.dataset_opener import versions as all_versions
from omnigraph_l1._dataset.durability import flush_files, flush_indexes, flush_version
from omnigraph_l1._dataset.pinned_dataset import PinnedDataset
from omnigraph_l1._events import time_event
from omnigraph_l1._lance.lance_failures import (
    LanceFailure,
    Symptom,
    recognize_failures,
    translate_errors,
)
from omnigraph_l1._lance.private_hooks import file_name, original_fragments
from omnigraph_l1._lance.version_files import newest_first
from omnigraph_l1._storage.contained_paths import check_tree
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._storage.stored_objects import translate_os_errors
from omnigraph_l1._transaction_kinds import TransactionKind
from omnigraph_l1._write.native_refs import list_branches, list_tags
from omnigraph_l1._write.table_commit import (
    CommitResult,
    commit_error,
    prepare_to_write,
    unchanged_result,
)
from omnigraph_l1.deadlines import RetryPolicy
from omnigraph_l1.errors import CorruptDataset, InvalidRequest, L1Error
from omnigraph_l1.failpoints import declare, failpoint

__all__ = ["Removed", "compact", "explain_removal", "remove_orphans", "remove_versions"]

_REWRITTEN = declare("l1.compact.rewritten", "the compacted fragments are written, not committed")
_VISIBLE = declare("l1.compact.visible", "the compacted version is visible, but not yet flushed")


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


def compact(pinned: PinnedDataset, *, target_rows: int, drop_deleted: bool = True) -> CommitResult:
    """Merge fragments that are smaller than the target, and drop rows that are marked deleted.

    Without ``drop_deleted``, fragments that are large enough stay as they are. So do those of a
    branch that an index of its parent covers.
    """
    target = parse_count(target_rows, location=pinned.location, what="target_rows", least=1)
    options: Any = {
        "target_rows_per_fragment": target,
        "materialize_deletions": bool(drop_deleted),
    }
    prepare_to_write(pinned)
    with time_event("compact", location=str(pinned.location), branch=pinned.branch) as event:
        with translate_errors(pinned.location):
            kept = _covered_by_inherited(pinned)
            planned = run_watched(
                pinned.storage, lambda: Compaction.plan(pinned.dataset, options).tasks
            )
            tasks = [task for task in planned if kept.isdisjoint(f.id for f in task.fragments)]
            rewrites = [
                run_watched(pinned.storage, partial(task.execute, pinned.dataset)) for task in tasks
            ]
        if not rewrites:
            return unchanged_result(pinned, "")
        written = [fragment for rewrite in rewrites for fragment in rewrite.new_fragments]
        flush_files(pinned, (Path("data") / f.path for part in written for f in part.files))
        failpoint(_REWRITTEN)
        try:
            with recognize_failures():
                moving = run_watched(pinned.storage, lambda: _commit(pinned, rewrites))
        except LanceFailure as failure:
            raise commit_error(
                pinned, "compaction", failure, "", ours=TransactionKind.REWRITE
            ) from failure.cause
        event["version"] = moving.version
    failpoint(_VISIBLE)
    done = pinned.at(moving)
    flush_indexes(done)
    flush_version(done)
    replaced = {f.path for r in rewrites for part in original_fragments(r) for f in part.files}
    expected = (set(_content(pinned)) - _of_fragments(pinned, replaced)) | {
        (f.path, None) for part in written for f in part.files
    }
    return CommitResult(
        pinned=done,
        base_version=pinned.version,
        transaction_id=None,
        # Lance reserves fragment numbers in a version of its own, so counting proves nothing.
        follows_base=set(_content(done)) == expected and _same_columns(done, pinned),
        changed=True,
    )


def _commit(pinned: PinnedDataset, rewrites: list[Any]) -> LanceDataset:
    moving = pinned.copy_handle()
    Compaction.commit(moving, rewrites)
    return moving.checkout_version((pinned.branch, moving.version))


def _covered_by_inherited(pinned: PinnedDataset) -> set[int]:
    """Return the fragments whose index a branch has from its parent, in files of the parent.

    When Lance compacts them, it writes such an index to the branch and still looks for it in the
    parent: then nothing that needs the index works.
    """
    return {
        number
        for description in run_watched(pinned.storage, pinned.dataset.describe_indices)
        for part in description.segments
        if part.base_id is not None
        for number in part.fragment_ids
    }


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


def _same_columns(first: PinnedDataset, second: PinnedDataset) -> bool:
    equal: bool = first.dataset.schema.equals(second.dataset.schema, check_metadata=True)
    return equal


def _content(pinned: PinnedDataset) -> Iterator[tuple[str, str | None]]:
    """Yield each data file with the deletions that apply to it: equal means equal rows."""
    for fragment in pinned.dataset.get_fragments():
        deletions = fragment.metadata.deletion_file
        marked = None if deletions is None else deletions.path(fragment.fragment_id)
        for file in fragment.metadata.files:
            yield file_name(file), marked


def _of_fragments(pinned: PinnedDataset, paths: set[str]) -> set[tuple[str, str | None]]:
    return {entry for entry in _content(pinned) if entry[0] in paths}
