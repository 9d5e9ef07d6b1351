"""What becomes of one commit: it landed, it met another, it failed, or nobody knows.

Always: nothing is tried again in silence, and a lost reply is not guessed. The writer looks for
the id of its own transaction, before anything else that the failure may seem to say. Where it can
neither find it nor rule it out, ``OutcomeUnknown`` names the id.
"""

from __future__ import annotations

import attrs
from lance import LanceDataset, LanceOperation, Transaction

from omnigraph_l1._events import emit
from omnigraph_l1._lance.failures import LanceFailure, Symptom, lance_calls
from omnigraph_l1._lance.transactions import read_transaction
from omnigraph_l1._resolution import Resolution
from omnigraph_l1._table.opening import latest
from omnigraph_l1._table.pinned import Pinned
from omnigraph_l1.errors import (
    AccessDenied,
    CommitConflict,
    InvalidRequest,
    L1Error,
    OutcomeUnknown,
    StorageFull,
    UnknownVersion,
)

__all__ = ["Outcome", "commit_once", "conflict_error", "failed_write_error", "unchanged"]


@attrs.frozen(kw_only=True)
class Outcome:
    """What became of a commit."""

    pinned: Pinned = attrs.field(repr=False, eq=False)
    """The version that holds it."""
    base_version: int
    transaction_id: str | None
    """The id that the commit carries; None for a merge, which can carry none."""
    follows_base: bool
    """Whether the new version is exactly the base plus this change, and nothing else."""
    changed: bool
    """Whether anything was committed: a change of no rows is no commit."""

    @property
    def version(self) -> int:
        """The version that holds it."""
        return self.pinned.version


def unchanged(pinned: Pinned, transaction_id: str) -> Outcome:
    """Give the outcome of a change of no rows."""
    return Outcome(
        pinned=pinned,
        base_version=pinned.version,
        transaction_id=transaction_id,
        follows_base=True,
        changed=False,
    )


def commit_once(pinned: Pinned, transaction: Transaction, operation: str) -> LanceDataset:
    """Commit on what is pinned; on a failure, find out what became of it."""
    try:
        with lance_calls():
            return LanceDataset.commit(
                pinned.dataset,
                transaction,
                storage_options=pinned.storage.lance_options,
                max_retries=0,
            )
    except LanceFailure as failure:
        landed = _find_own(pinned, transaction.uuid, failure)
        if landed is not None:
            emit("lost_reply_resolved", place=str(pinned.place), version=landed.version)
            return landed
        if failure.resolution is not None:
            raise conflict_error(pinned, operation, failure) from failure.cause
        if failure.symptom in {Symptom.VERSION_MISSING, Symptom.MISSING} and isinstance(
            transaction.operation, LanceOperation.Restore
        ):
            raise UnknownVersion(
                place=str(pinned.place),
                branch=pinned.branch,
                version=transaction.operation.version,
            ) from failure.cause
        raise failed_write_error(pinned, failure, transaction.uuid) from failure.cause


def _find_own(pinned: Pinned, transaction_id: str, failure: LanceFailure) -> LanceDataset | None:
    """Look for one's own commit after a failure: the reply may have been lost, not the write."""
    try:
        head = latest(pinned)
        for version in range(head.version, pinned.version, -1):
            if _transaction_id(head.dataset, version) == transaction_id:
                with lance_calls():
                    return head.dataset.checkout_version((pinned.branch, version))
    except (L1Error, LanceFailure) as error:
        if failure.resolution is not None:
            return None  # Lance itself read what came first, and it was not ours
        raise OutcomeUnknown(
            place=str(pinned.place),
            write_id=transaction_id,
            detail=f"{failure.words}; looking for it failed too: {error}",
        ) from failure.cause
    return None


def _transaction_id(dataset: LanceDataset, version: int) -> str | None:
    try:
        transaction = read_transaction(dataset, version)
    except LanceFailure as failure:
        if failure.symptom in {Symptom.VERSION_MISSING, Symptom.DATASET_MISSING}:
            return None  # cleaned away, so long after that it cannot be ours
        raise
    return None if transaction is None else str(transaction.uuid)


def conflict_error(pinned: Pinned, operation: str, failure: LanceFailure) -> CommitConflict:
    """Tell of the commit that came first."""
    resolution = failure.resolution or Resolution.RETRYABLE
    emit(
        "conflict",
        place=str(pinned.place),
        branch=pinned.branch,
        operation=operation,
        base=pinned.version,
        resolution=resolution.value,
    )
    return CommitConflict(
        place=str(pinned.place),
        branch=pinned.branch,
        operation=operation,
        base_version=pinned.version,
        resolution=resolution,
        detail=failure.words,
    )


def failed_write_error(pinned: Pinned, failure: LanceFailure, write_id: str) -> L1Error:
    """Tell a failure that surely wrote nothing from one of which that is not known."""
    error = failure.at(pinned.place)
    if pinned.place.is_local or isinstance(error, (AccessDenied, StorageFull, InvalidRequest)):
        return error
    return OutcomeUnknown(place=str(pinned.place), write_id=write_id, detail=failure.words)
