"""Making a staged change visible, once, and proving on what.

Always: Lance may put a commit on top of versions that came in between, so the outcome says whether
the new version is exactly its base plus this change; where it is not, a stranger's rows are in it.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from lance import Transaction

from omnigraph_l1._events import timed
from omnigraph_l1._failpoints import declare, failpoint
from omnigraph_l1._kinds import TransactionKind
from omnigraph_l1._lance.failures import LanceFailure
from omnigraph_l1._resolution import Resolution
from omnigraph_l1._table.arguments import checked_id, checked_kind, checked_texts
from omnigraph_l1._table.branch_identity import check_branch_identity
from omnigraph_l1._table.dataset_identity import check_version_names
from omnigraph_l1._table.flushing import flush_staged, flush_version
from omnigraph_l1._table.objects import storage_border
from omnigraph_l1._table.opening import latest
from omnigraph_l1._table.outcomes import Outcome, commit_once, unchanged
from omnigraph_l1._table.pinned import Pinned
from omnigraph_l1._table.staging import Staged, check_files, check_fits
from omnigraph_l1._table.wholeness import FLUSHED_PROPERTY, has_torn_head, set_torn_aside
from omnigraph_l1._versions import check_version_store
from omnigraph_l1.errors import CommitConflict

__all__ = ["commit", "ready_to_write"]

_STAGED_FLUSHED = declare("l1.commit.staged_flushed", "the files of a change are flushed")
_VISIBLE = declare("l1.commit.visible", "the new version is visible, but not yet flushed")
_FLUSHED = declare("l1.commit.flushed", "the new version is flushed, but not yet acknowledged")


def commit(
    pinned: Pinned, staged: Staged, *, properties: Mapping[str, str], transaction_id: str | None
) -> Outcome:
    """Commit a staged change on the version that is pinned."""
    check_fits(pinned, checked_kind(staged, Staged, place=pinned.place))
    properties = checked_texts(properties, place=pinned.place, what="what is noted with a commit")
    identity = str(uuid.uuid4())
    if transaction_id is not None:
        identity = checked_id(transaction_id, place=pinned.place)
    if staged.is_empty:
        return unchanged(pinned, identity)
    ready_to_write(pinned)
    if staged.replaces_all:
        _refuse_behind(pinned, staged)
    check_files(pinned, staged)
    flush_staged(pinned, staged)
    failpoint(_STAGED_FLUSHED)
    with timed(
        "commit",
        place=str(pinned.place),
        branch=pinned.branch,
        operation=staged.operation_name,
        base=pinned.version,
    ) as event:
        transaction = Transaction(
            read_version=pinned.version,
            operation=staged.operation,
            uuid=identity,
            transaction_properties={**properties, **_flushed_note(pinned)},
        )
        dataset = commit_once(pinned, transaction, staged.operation_name)
        event["version"] = dataset.version
    failpoint(_VISIBLE)
    done = pinned.at(dataset)
    flush_version(done)
    failpoint(_FLUSHED)
    return Outcome(
        pinned=done,
        base_version=pinned.version,
        transaction_id=identity,
        follows_base=done.version == pinned.version + 1,
        changed=True,
    )


def _flushed_note(pinned: Pinned) -> dict[str, str]:
    return {FLUSHED_PROPERTY: "true"} if pinned.flushes else {}


def ready_to_write(pinned: Pinned) -> None:
    """Refuse a handle that must not write, and clear away what a power cut left at the head."""
    pinned.refuse_stale()
    if pinned.dataset_identity is not None:
        check_version_names(pinned.place, pinned.directory, pinned.version, pinned.dataset_identity)
    _refuse_deleted(pinned)
    check_version_store(pinned.dataset, pinned.storage)
    if pinned.place.is_local:
        try:
            with storage_border(pinned.place):
                if has_torn_head(pinned.dataset, pinned.branch, pinned.directory):
                    set_torn_aside(pinned.dataset, pinned.branch, pinned.directory)
                    _refuse_deleted(pinned)  # what is being deleted looks torn
        except LanceFailure as failure:
            raise failure.at(pinned.place) from failure.cause


def _refuse_deleted(pinned: Pinned) -> None:
    if pinned.branch is not None and pinned.branch_identity is not None:
        check_branch_identity(pinned.storage, pinned.branch, pinned.branch_identity)


def _refuse_behind(pinned: Pinned, staged: Staged) -> None:
    """Refuse to replace rows on a version that is not the head.

    Lance takes the next version number for free without looking at the head. Where that version was
    cleaned away, the replacement would be written into the past, and be acknowledged.
    """
    head = latest(pinned).version
    if head != pinned.version:
        raise CommitConflict(
            place=str(pinned.place),
            branch=pinned.branch,
            operation=staged.operation_name,
            base_version=pinned.version,
            resolution=Resolution.RETRYABLE,
            detail=f"the head is version {head} by now",
            ours=TransactionKind.OVERWRITE,
        )
