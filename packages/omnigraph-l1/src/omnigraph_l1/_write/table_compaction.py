"""Compaction of small fragments.

Invariant: compaction changes no row, and says whether anything but it went into the new version; it
writes its files first and commits them once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from lance import LanceDataset
from lance.optimize import Compaction

from omnigraph_l1._dataset.argument_checks import parse_count
from omnigraph_l1._dataset.durability import (
    flush_files,
    flush_indexes,
    flush_version,
    flushing_written,
)
from omnigraph_l1._dataset.pinned_dataset import PinnedDataset
from omnigraph_l1._events import time_event
from omnigraph_l1._lance.lance_failures import (
    LanceFailure,
    recognize_failures,
    translate_errors,
)
from omnigraph_l1._lance.private_hooks import file_name, original_fragments
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._transaction_kinds import TransactionKind
from omnigraph_l1._write.table_commit import (
    CommitResult,
    commit_error,
    prepare_to_write,
    unchanged_result,
)
from omnigraph_l1.failpoints import declare, failpoint

__all__ = ["compact"]

_REWRITTEN = declare("l1.compact.rewritten", "the compacted fragments are written, not committed")
_VISIBLE = declare("l1.compact.visible", "the compacted version is visible, but not yet flushed")


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
    with flushing_written(done, ""):
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
