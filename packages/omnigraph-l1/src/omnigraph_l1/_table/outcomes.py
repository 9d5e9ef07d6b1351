"""What becomes of one commit: it landed, it met another, it failed, or nobody knows.

Always: nothing is tried again in silence, and a lost reply is not guessed. The writer looks for
the id of its own transaction, before anything else that the failure may seem to say. Where it can
neither find it nor rule it out, ``OutcomeUnknown`` names the id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import attrs
from lance import LanceDataset, LanceOperation, Transaction

from omnigraph_l1._events import emit
from omnigraph_l1._kinds import TransactionKind
from omnigraph_l1._lance.failures import LanceFailure, Symptom, lance_calls
from omnigraph_l1._lance.transactions import read_transaction, same_change
from omnigraph_l1._resolution import Resolution
from omnigraph_l1._table.opening import at_version, damaged_versions, latest
from omnigraph_l1._table.pinned import Pinned
from omnigraph_l1.errors import (
    AccessDenied,
    CommitConflict,
    InvalidRequest,
    L1Error,
    OutcomeUnknown,
    StorageFull,
)

__all__ = ["Outcome", "commit_error", "commit_once", "failed_write_error", "unchanged"]

_Met = tuple[TransactionKind, TransactionKind, int]
"""Ours, theirs, and the version that theirs made."""

_KINDS = {kind.value: kind for kind in TransactionKind}
_NOTHING_READ: Mapping[int, Transaction] = MappingProxyType({})
_NOT_THERE = frozenset({Symptom.VERSION_MISSING, Symptom.MISSING, Symptom.TORN})


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
        between: dict[int, Transaction] = {}
        landed = _find_own(pinned, transaction, failure, between)
        if landed is not None:
            emit("lost_reply_resolved", place=str(pinned.place), version=landed.version)
            return landed
        if failure.symptom in _NOT_THERE and isinstance(
            transaction.operation, LanceOperation.Restore
        ):
            at_version(pinned, transaction.operation.version)  # it says what is wrong with it
        ours = _KINDS.get(type(transaction.operation).__name__)
        raise commit_error(
            pinned, operation, failure, transaction.uuid, ours=ours, between=between
        ) from failure.cause


def _find_own(
    pinned: Pinned,
    transaction: Transaction,
    failure: LanceFailure,
    between: dict[int, Transaction],
) -> LanceDataset | None:
    """Look for one's own commit after a failure: the reply may have been lost, not the write.

    The records that are read on the way are put down in ``between``, by version.
    """
    used_in: int | None = None
    try:
        head = latest(pinned)
        for version in range(head.version, pinned.version, -1):
            found = _read(head.dataset, version)
            if found is None:
                continue
            between[version] = found
            if found.uuid != transaction.uuid:
                continue
            if same_change(found, transaction):
                with lance_calls():
                    return head.dataset.checkout_version((pinned.branch, version))
            used_in = version
    except (L1Error, LanceFailure) as error:
        if failure.resolution is not None:
            return None  # Lance itself read what came first, and it was not ours
        raise OutcomeUnknown(
            place=str(pinned.place),
            write_id=transaction.uuid,
            detail=f"{failure.words}; looking for it failed too: {error}",
        ) from failure.cause
    if used_in is not None and failure.resolution is not None:
        reason = (
            f"the transaction id {transaction.uuid!r} is that of another change, in version "
            f"{used_in}; take a new one for each change"
        )
        raise InvalidRequest(place=str(pinned.place), reason=reason)
    return None


def _read(dataset: LanceDataset, version: int) -> Transaction | None:
    try:
        return read_transaction(dataset, version)
    except LanceFailure as failure:
        if failure.symptom in {Symptom.VERSION_MISSING, Symptom.DATASET_MISSING}:
            return None  # cleaned away, so long after that it cannot be ours
        if failure.symptom is Symptom.TORN:
            return None  # nothing tears what a living process has just written
        raise


def commit_error(
    pinned: Pinned,
    operation: str,
    failure: LanceFailure,
    write_id: str,
    *,
    ours: TransactionKind | None,
    between: Mapping[int, Transaction] = _NOTHING_READ,
) -> L1Error:
    """Tell what came first, or what went wrong."""
    if failure.resolution is not None:
        met = failure.met or _met(ours, between)
        told = failure.words
        return _conflict(pinned, operation, failure.resolution, told, ours=ours, met=met)
    if failure.symptom in {Symptom.TORN, None}:
        # Lance reads what each version in between changed, and may panic at what it finds.
        damaged = _damaged_since(pinned)
        if damaged:
            detail = f"version {damaged[0]} is damaged, so that what it changed is not known"
            return _conflict(pinned, operation, Resolution.RETRYABLE, detail, ours=ours)
    return failed_write_error(pinned, failure, write_id)


def _met(ours: TransactionKind | None, between: Mapping[int, Transaction]) -> _Met | None:
    """Where Lance names nobody: only one commit can be meant where only one came between."""
    if ours is None or len(between) != 1:
        return None
    ((version, record),) = between.items()
    theirs = _KINDS.get(type(record.operation).__name__)
    return None if theirs is None else (ours, theirs, version)


def _damaged_since(pinned: Pinned) -> Sequence[int]:
    try:
        return damaged_versions(pinned, range(pinned.version + 1, latest(pinned).version + 1))
    except L1Error:
        return ()  # that one cannot look says nothing of the write


def _conflict(
    pinned: Pinned,
    operation: str,
    resolution: Resolution,
    detail: str,
    *,
    ours: TransactionKind | None,
    met: _Met | None = None,
) -> CommitConflict:
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
        detail=detail,
        ours=met[0] if met else ours,
        theirs=met[1] if met else None,
        their_version=met[2] if met else None,
    )


def failed_write_error(pinned: Pinned, failure: LanceFailure, write_id: str) -> L1Error:
    """Tell a failure that surely wrote nothing from one of which that is not known."""
    error = failure.at(pinned.place)
    if pinned.place.is_local or isinstance(error, (AccessDenied, StorageFull, InvalidRequest)):
        return error
    return OutcomeUnknown(place=str(pinned.place), write_id=write_id, detail=failure.words)
