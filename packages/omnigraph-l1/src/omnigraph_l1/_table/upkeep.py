"""Keeping a table quick: merging small fragments, and removing versions that nobody needs.

Always: compaction changes no row, and says whether anything but it went into the new version; it
writes its files first and commits them once. Cleaning removes exactly the versions that it is
given, never by age, because what a graph has pinned is often not the newest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
from lance.optimize import Compaction

from omnigraph_l1._events import timed
from omnigraph_l1._failpoints import declare, failpoint
from omnigraph_l1._kinds import TransactionKind
from omnigraph_l1._lance.failures import LanceFailure, Symptom, lance_border, lance_calls
from omnigraph_l1._table.arguments import checked_count, checked_list, checked_version
from omnigraph_l1._table.committing import ready_to_write
from omnigraph_l1._table.flushing import flush_files, flush_indexes, flush_version
from omnigraph_l1._table.listing import version_files
from omnigraph_l1._table.objects import storage_border
from omnigraph_l1._table.opening import damaged_versions
from omnigraph_l1._table.opening import versions as all_versions
from omnigraph_l1._table.outcomes import Outcome, commit_error, unchanged
from omnigraph_l1._table.pinned import Pinned
from omnigraph_l1._table.refs import list_branches, list_tags
from omnigraph_l1._table.wholeness import newest_first
from omnigraph_l1._versions import forget
from omnigraph_l1.errors import CorruptDataset, InvalidRequest

__all__ = ["Removed", "compact", "explain_removal", "remove_orphans", "remove_versions"]

_REWRITTEN = declare("l1.compact.rewritten", "the compacted fragments are written, not committed")
_VISIBLE = declare("l1.compact.visible", "the compacted version is visible, but not yet flushed")
_REMOVED = declare(
    "versions.version_removed", "versions are gone, and their version store has records"
)


_LOOKS = 20
_NEVER = 2**63 - 1
"""A version that never is: Lance wants to be told one."""


@attrs.frozen(kw_only=True)
class Removed:
    """What cleaning removed."""

    versions: int
    data_files: int
    bytes: int
    failed: int
    """Files that could not be removed: Lance raises nothing for them."""


def compact(pinned: Pinned, *, target_rows: int, drop_deleted: bool = True) -> Outcome:
    """Merge fragments that are smaller than the target, and drop rows that are marked deleted.

    Without ``drop_deleted``, fragments that are large enough stay as they are. So do those of a
    branch that an index of its parent covers.
    """
    target = checked_count(target_rows, place=pinned.place, what="target_rows", least=1)
    options: Any = {
        "target_rows_per_fragment": target,
        "materialize_deletions": bool(drop_deleted),
    }
    ready_to_write(pinned)
    with timed("compact", place=str(pinned.place), branch=pinned.branch) as event:
        with lance_border(pinned.place):
            kept = _covered_by_inherited(pinned)
            planned = Compaction.plan(pinned.dataset, options).tasks
            tasks = [task for task in planned if kept.isdisjoint(f.id for f in task.fragments)]
            rewrites = [task.execute(pinned.dataset) for task in tasks]
        if not rewrites:
            return unchanged(pinned, "")
        written = [fragment for rewrite in rewrites for fragment in rewrite.new_fragments]
        flush_files(pinned, (Path("data") / f.path for part in written for f in part.files))
        failpoint(_REWRITTEN)
        moving = pinned.apart()
        try:
            with lance_calls():
                Compaction.commit(moving, rewrites)
                moving = moving.checkout_version((pinned.branch, moving.version))
        except LanceFailure as failure:
            raise commit_error(
                pinned, "compaction", failure, "", ours=TransactionKind.REWRITE
            ) from failure.cause
        event["version"] = moving.version
    failpoint(_VISIBLE)
    done = pinned.at(moving)
    flush_indexes(done)
    flush_version(done)
    replaced = {f.path for r in rewrites for part in _replaced_by(r) for f in part.files}
    expected = (set(_content(pinned)) - _of_fragments(pinned, replaced)) | {
        (f.path, None) for part in written for f in part.files
    }
    return Outcome(
        pinned=done,
        base_version=pinned.version,
        transaction_id=None,
        # Lance reserves fragment numbers in a version of its own, so counting proves nothing.
        follows_base=set(_content(done)) == expected and _same_columns(done, pinned),
        changed=True,
    )


def _covered_by_inherited(pinned: Pinned) -> set[int]:
    """Name the fragments that a branch has an index of from its parent, in files of the parent.

    Lance writes such an index anew beside the branch when it compacts them, and goes on looking
    for it beside the parent: nothing that needs the index works any more.
    """
    return {
        number
        for description in pinned.dataset.describe_indices()
        for part in description.segments
        if part.base_id is not None
        for number in part.fragment_ids
    }


def explain_removal(pinned: Pinned, versions: Iterable[int]) -> Removed:
    """Tell what ``remove_versions`` would remove; of no versions, what ``remove_orphans`` would."""
    wanted = _wanted(pinned, versions)
    pinned.guard.check()
    try:
        with lance_calls():
            told = pinned.dataset.explain_cleanup_old_versions(versions=wanted or [_NEVER])
    except LanceFailure as failure:
        if failure.symptom is Symptom.VERSION_TAGGED:
            raise _tagged(pinned, wanted) from failure.cause
        raise failure.at(pinned.place) from failure.cause
    return _removed(told.stats)


def remove_versions(pinned: Pinned, versions: Iterable[int]) -> Removed:
    """Remove versions of this lineage, and the files that only they name.

    With them go the orphans, see ``remove_orphans``.

    While a version of the lineage is damaged, it cannot be known what it names: then (on local
    disk) the versions are removed and their files stay. Removing the damaged one is the cure.
    """
    wanted = _wanted(pinned, versions)
    ready_to_write(pinned)
    if not wanted:
        return Removed(versions=0, data_files=0, bytes=0, failed=0)
    return _cleaned(pinned, wanted)


def remove_orphans(pinned: Pinned) -> Removed:
    """Remove files of this lineage that no version names, once they are a week old.

    The bound is Lance's own: younger ones may be of a writer that has not committed yet.
    """
    ready_to_write(pinned)
    return _cleaned(pinned, [_NEVER])


def _cleaned(pinned: Pinned, wanted: list[int]) -> Removed:
    with timed("remove_versions", place=str(pinned.place), count=len(wanted)):
        for look in range(1, _LOOKS + 1):
            try:
                with lance_calls():
                    stats = pinned.dataset.cleanup_old_versions(versions=wanted)
            except LanceFailure as failure:
                if failure.symptom is Symptom.VERSION_TAGGED:
                    raise _tagged(pinned, wanted) from failure.cause
                if failure.symptom is Symptom.TORN:
                    return _remove_without_files(pinned, wanted)
                # Lance lists the branches first, and fails where one of them is deleted meanwhile.
                if look == _LOOKS or not _is_vanished_ref(failure):
                    raise failure.at(pinned.place) from failure.cause
            else:
                _forget_removed(pinned)
                return _removed(stats)
    raise AssertionError


def _is_vanished_ref(failure: LanceFailure) -> bool:
    return failure.symptom in {Symptom.MISSING, Symptom.REF_MISSING} and "/_refs/" in failure.words


def _forget_removed(pinned: Pinned) -> None:
    """Drop the records of versions that are gone: of others that Lance spared they are needed."""
    if pinned.storage.version_store is not None:
        failpoint(_REMOVED)
        forget(pinned.storage, pinned.branch, {each.version for each in version_files(pinned)})


def _wanted(pinned: Pinned, versions: Iterable[int]) -> list[int]:
    given = checked_list(versions, place=pinned.place, what="the versions to be removed")
    return sorted({checked_version(one, place=pinned.place, branch=pinned.branch) for one in given})


def _removed(stats: Any) -> Removed:
    return Removed(
        versions=stats.old_versions,
        data_files=stats.data_files_removed,
        bytes=stats.bytes_removed,
        failed=stats.failed_deletes,
    )


def _remove_without_files(pinned: Pinned, wanted: Sequence[int]) -> Removed:
    """Remove versions, and no other file, where a damaged one does not say which files it needs."""
    if not pinned.place.is_local:
        damaged = damaged_versions(pinned, all_versions(pinned))
        detail = f"of these versions the file is damaged: {damaged}; nothing was removed"
        raise CorruptDataset(place=str(pinned.place), detail=detail)
    tagged = {tag.version for tag in list_tags(pinned).values() if tag.branch == pinned.branch}
    if tagged.intersection(wanted):
        raise _tagged(pinned, wanted)
    starts = {
        branch.parent_version
        for branch in list_branches(pinned).values()
        if branch.parent_branch == pinned.branch
    }
    paths = newest_first(pinned.directory)
    spared = starts | {pinned.version, *(version for version, _ in paths[:1])}
    doomed = [path for version, path in paths if version in wanted and version not in spared]
    with storage_border(pinned.place):
        size = sum(path.stat().st_size for path in doomed)
        for path in doomed:
            path.unlink()
    return Removed(versions=len(doomed), data_files=0, bytes=size, failed=0)


def _tagged(pinned: Pinned, wanted: Sequence[int]) -> InvalidRequest:
    reason = f"a tag holds one of these versions: {wanted}; delete the tag first"
    return InvalidRequest(place=str(pinned.place), reason=reason)


def _same_columns(first: Pinned, second: Pinned) -> bool:
    equal: bool = first.dataset.schema.equals(second.dataset.schema, check_metadata=True)
    return equal


def _replaced_by(rewrite: Any) -> Iterable[Any]:
    """Name the fragments that a rewrite replaces. pylance's stubs call them otherwise."""
    fragments: Iterable[Any] = rewrite.original_fragments
    return fragments


def _content(pinned: Pinned) -> Iterator[tuple[str, str | None]]:
    """Name each data file with the deletions that apply to it: equal means equal rows."""
    for fragment in pinned.dataset.get_fragments():
        deletions = fragment.metadata.deletion_file
        marked = None if deletions is None else deletions.path(fragment.fragment_id)
        for file in fragment.metadata.files:
            yield file.path, marked


def _of_fragments(pinned: Pinned, paths: set[str]) -> set[tuple[str, str | None]]:
    return {entry for entry in _content(pinned) if entry[0] in paths}
