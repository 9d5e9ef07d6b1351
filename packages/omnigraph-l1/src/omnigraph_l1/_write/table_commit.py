"""Commit a staged change once, or merge by key in one step, and prove on which version.

Invariant: Lance may put a commit on top of versions that came in between, so the outcome says
whether the new version is exactly its base plus this change; where it is not, another writer's rows
are in it.

Invariant of ``cas_merge``, the row-level compare-and-swap that the catalog depends on: of two
merges that insert one key on one version, at most one lands. That holds only with the annotation on
the key, without an index, and in one step of Lance's: staged and committed, it would forget which
keys it inserted.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

import attrs
from lance import LanceDataset, LanceOperation, Transaction

from omnigraph_l1._dataset.argument_checks import parse_texts, parse_transaction_id, require_kind
from omnigraph_l1._dataset.dataset_opener import at_version, damaged_versions, latest
from omnigraph_l1._dataset.durability import (
    FLUSHED_PROPERTY,
    flush_everything_named,
    flush_files,
    flush_version,
    flushing_written,
    has_torn_head,
    make_durable,
    mark_flushed,
    remember_durable,
    set_aside_torn_versions,
)
from omnigraph_l1._dataset.external_manifest_store import check_store, check_version_store
from omnigraph_l1._dataset.pinned_dataset import (
    PinnedDataset,
    check_branch_identity,
    check_version_names,
)
from omnigraph_l1._events import emit, time_event
from omnigraph_l1._lance.lance_failures import LanceFailure, Symptom, recognize_failures
from omnigraph_l1._lance.transaction_records import read_transaction, same_change
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._storage.stored_objects import translate_os_errors
from omnigraph_l1._text_encoding import is_text
from omnigraph_l1._transaction_kinds import Resolution, TransactionKind
from omnigraph_l1._write.schema_check import ArrowData, check_data
from omnigraph_l1._write.staged_changes import Staged, check_base, check_staged_files
from omnigraph_l1.errors import (
    AccessDenied,
    CommitConflict,
    InvalidRequest,
    L1Error,
    OutcomeUnknown,
    StorageFull,
)
from omnigraph_l1.failpoints import declare, failpoint

__all__ = [
    "PRIMARY_KEY",
    "CommitResult",
    "cas_merge",
    "commit",
    "commit_error",
    "commit_once",
    "flushed_note",
    "prepare_to_write",
    "unchanged_result",
    "write_error",
]

_STAGED_FLUSHED = declare("l1.commit.staged_flushed", "the files of a change are flushed")
_VISIBLE = declare("l1.commit.visible", "the new version is visible, but not yet flushed")
_FLUSHED = declare("l1.commit.flushed", "the new version is flushed, but not yet acknowledged")
_MERGE_VISIBLE = declare("l1.merge.visible", "the merged version is visible, but not yet flushed")

PRIMARY_KEY = b"lance-schema:unenforced-primary-key"
"""The metadata key of the field that is a table's primary key; its value is ``true``."""


def commit(
    pinned: PinnedDataset,
    staged: Staged,
    *,
    properties: Mapping[str, str],
    transaction_id: str | None,
) -> CommitResult:
    """Commit a staged change on the version that is pinned."""
    check_base(pinned, require_kind(staged, Staged, location=pinned.location))
    properties = parse_texts(properties, location=pinned.location, what="properties")
    identity = str(uuid.uuid4())
    if transaction_id is not None:
        identity = parse_transaction_id(transaction_id, location=pinned.location)
    if staged.is_empty:
        return unchanged_result(pinned, identity)
    prepare_to_write(pinned)
    if staged.replaces_all:
        _refuse_behind(pinned, staged)
    check_staged_files(pinned, staged)
    flush_files(pinned, staged.new_files())
    failpoint(_STAGED_FLUSHED)
    with time_event(
        "commit",
        location=str(pinned.location),
        branch=pinned.branch,
        operation=staged.operation_name,
        base=pinned.version,
    ) as event:
        transaction = Transaction(
            read_version=pinned.version,
            operation=staged.operation,
            uuid=identity,
            transaction_properties={**properties, **flushed_note(pinned)},
        )
        dataset = commit_once(pinned, transaction, staged.operation_name)
        event["version"] = dataset.version
    failpoint(_VISIBLE)
    done = pinned.at(dataset)
    with flushing_written(done, identity):
        flush_version(done)
    if done.version == pinned.version + 1:
        remember_durable(done)
    failpoint(_FLUSHED)
    return CommitResult(
        pinned=done,
        base_version=pinned.version,
        transaction_id=identity,
        follows_base=done.version == pinned.version + 1,
        changed=True,
    )


def cas_merge(pinned: PinnedDataset, data: ArrowData, *, key: str, write_id: str) -> CommitResult:
    """Upsert rows by an annotated key, in one step, so that a key can be inserted only once.

    Of two such merges that insert one key on one version, the second is refused. This, and only
    this, is a compare-and-swap between rows. ``write_id`` names the write in the error of a lost
    reply: it should be in the data.
    """
    schema = pinned.dataset.schema
    field = schema.field(key) if is_text(key) and key in schema.names else None
    if field is None or (field.metadata or {}).get(PRIMARY_KEY) != b"true":
        reason = (
            f"column {key!r} does not carry the annotation {PRIMARY_KEY.decode()!r}, and without "
            "it two writers could insert one key; annotate it when the table is created"
        )
        raise InvalidRequest(location=str(pinned.location), reason=reason)
    prepare_to_write(pinned)
    fitted = check_data(data, schema, location=pinned.location, key=key)
    moving = pinned.copy_handle()
    rows = fitted.read_all()
    with time_event(
        "merge", location=str(pinned.location), branch=pinned.branch, base=pinned.version
    ) as event:
        try:
            with recognize_failures():
                merge = (
                    moving.merge_insert(key)
                    .when_matched_update_all()
                    .when_not_matched_insert_all()
                    .conflict_retries(0)
                    .use_index(use_index=False)
                )
                run_watched(pinned.storage, lambda: merge.execute(rows))
        except LanceFailure as failure:
            raise commit_error(
                pinned, "merge", failure, write_id, ours=TransactionKind.UPDATE
            ) from failure.cause
        event["version"] = moving.version
    failpoint(_MERGE_VISIBLE)
    done = pinned.at(moving)
    with flushing_written(done, write_id):
        flush_everything_named(done)
        flush_version(done)
    if done.flushes:
        mark_flushed(done.directory, done.version)
        remember_durable(done)
    return CommitResult(
        pinned=done,
        base_version=pinned.version,
        transaction_id=None,
        follows_base=done.version == pinned.version + 1,
        changed=True,
    )


def flushed_note(pinned: PinnedDataset) -> dict[str, str]:
    """Return what the record of a commit says if all that it names was flushed before."""
    return {FLUSHED_PROPERTY: "true"} if pinned.flushes else {}


def prepare_to_write(pinned: PinnedDataset) -> None:
    """Refuse a handle that must not write, and clear away what a power cut left at the head.

    What the pinned version names is durable after it, where this handle's commits are.
    """
    _refuse_deleted(pinned)
    if pinned.dataset_identity is not None:
        check_version_names(
            pinned.location, pinned.directory, pinned.version, pinned.dataset_identity
        )
    if pinned.may_have_version_store:
        check_version_store(pinned)
    if not pinned.location.is_local:
        check_store(pinned.storage)
    else:
        try:
            with translate_os_errors(pinned.location):
                if has_torn_head(pinned.dataset, pinned.branch, pinned.directory):
                    set_aside_torn_versions(pinned.dataset, pinned.branch, pinned.directory)
                    _refuse_deleted(pinned)  # what is being deleted looks torn
        except LanceFailure as failure:
            raise failure.at(pinned.location) from failure.cause
    make_durable(pinned)


def _refuse_deleted(pinned: PinnedDataset) -> None:
    pinned.check_not_stale()
    if pinned.branch is not None and pinned.branch_identity is not None:
        check_branch_identity(pinned.storage, pinned.branch, pinned.branch_identity)


def _refuse_behind(pinned: PinnedDataset, staged: Staged) -> None:
    """Refuse to replace rows on a version that is not the head.

    Lance takes the next version number for free without looking at the head. Where that version was
    cleaned away, the replacement would be written into the past, and be acknowledged.
    """
    head = latest(pinned).version
    if head != pinned.version:
        raise CommitConflict(
            location=str(pinned.location),
            branch=pinned.branch,
            operation=staged.operation_name,
            base_version=pinned.version,
            resolution=Resolution.RETRYABLE,
            detail=f"the head is version {head} by now",
            ours=TransactionKind.OVERWRITE,
        )


_Met = tuple[TransactionKind, TransactionKind, int]
"""Ours, theirs, and the version that theirs made."""

_KINDS = {kind.value: kind for kind in TransactionKind}
_NOTHING_READ: Mapping[int, Transaction] = MappingProxyType({})
_NOT_THERE = frozenset({Symptom.VERSION_MISSING, Symptom.MISSING, Symptom.TORN})


@attrs.frozen(kw_only=True)
class CommitResult:
    """What became of a commit."""

    pinned: PinnedDataset = attrs.field(repr=False, eq=False)
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


def unchanged_result(pinned: PinnedDataset, transaction_id: str) -> CommitResult:
    """Return the outcome of a change of no rows."""
    return CommitResult(
        pinned=pinned,
        base_version=pinned.version,
        transaction_id=transaction_id,
        follows_base=True,
        changed=False,
    )


def commit_once(pinned: PinnedDataset, transaction: Transaction, operation: str) -> LanceDataset:
    """Commit on what is pinned; on a failure, find out what became of it."""
    try:
        with recognize_failures():
            return run_watched(
                pinned.storage,
                lambda: LanceDataset.commit(
                    pinned.dataset,
                    transaction,
                    storage_options=pinned.storage.lance_options,
                    max_retries=0,
                ),
            )
    except LanceFailure as failure:
        between: dict[int, Transaction] = {}
        landed = _find_own(pinned, transaction, failure, between)
        if landed is not None:
            emit("lost_reply_resolved", location=str(pinned.location), version=landed.version)
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
    pinned: PinnedDataset,
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
            found = _read(head, version)
            if found is None:
                continue
            between[version] = found
            if found.uuid != transaction.uuid:
                continue
            if same_change(found, transaction):
                with recognize_failures():
                    return run_watched(
                        pinned.storage,
                        partial(head.dataset.checkout_version, (pinned.branch, version)),
                    )
            used_in = version
    except (L1Error, LanceFailure) as error:
        if failure.resolution is not None:
            return None  # Lance itself read what came first, and it was not ours
        raise OutcomeUnknown(
            location=str(pinned.location),
            write_id=transaction.uuid,
            detail=f"{failure.words}; looking for it failed too: {error}",
        ) from failure.cause
    if used_in is not None and failure.resolution is not None:
        reason = (
            f"the transaction id {transaction.uuid!r} is that of another change, in version "
            f"{used_in}; take a new one for each change"
        )
        raise InvalidRequest(location=str(pinned.location), reason=reason)
    return None


def _read(head: PinnedDataset, version: int) -> Transaction | None:
    try:
        with recognize_failures():
            return run_watched(head.storage, lambda: read_transaction(head.dataset, version))
    except LanceFailure as failure:
        if failure.symptom in {Symptom.VERSION_MISSING, Symptom.DATASET_MISSING}:
            return None  # cleaned away, so long after that it cannot be ours
        if failure.symptom is Symptom.TORN:
            return None  # nothing tears what a living process has just written
        raise


def commit_error(
    pinned: PinnedDataset,
    operation: str,
    failure: LanceFailure,
    write_id: str,
    *,
    ours: TransactionKind | None,
    between: Mapping[int, Transaction] = _NOTHING_READ,
) -> L1Error:
    """Return what came first, or what went wrong."""
    if failure.resolution is not None:
        met = failure.conflict or _infer_kinds(ours, between)
        return _conflict(pinned, operation, failure.resolution, failure.words, ours=ours, met=met)
    if failure.symptom in {Symptom.TORN, None}:
        # Lance reads what each version in between changed, and may panic at what it finds.
        damaged = _damaged_since(pinned)
        if damaged:
            detail = f"version {damaged[0]} is damaged, so that what it changed is not known"
            return _conflict(pinned, operation, Resolution.RETRYABLE, detail, ours=ours)
    return write_error(pinned, failure, write_id)


def _infer_kinds(ours: TransactionKind | None, between: Mapping[int, Transaction]) -> _Met | None:
    """Return the kinds if only one commit came between, for a failure that names none."""
    if ours is None or len(between) != 1:
        return None
    ((version, record),) = between.items()
    theirs = _KINDS.get(type(record.operation).__name__)
    return None if theirs is None else (ours, theirs, version)


def _damaged_since(pinned: PinnedDataset) -> Sequence[int]:
    try:
        return damaged_versions(pinned, range(pinned.version + 1, latest(pinned).version + 1))
    except L1Error:
        return ()  # that one cannot look says nothing of the write


def _conflict(
    pinned: PinnedDataset,
    operation: str,
    resolution: Resolution,
    detail: str,
    *,
    ours: TransactionKind | None,
    met: _Met | None = None,
) -> CommitConflict:
    emit(
        "conflict",
        location=str(pinned.location),
        branch=pinned.branch,
        operation=operation,
        base=pinned.version,
        resolution=resolution.value,
    )
    return CommitConflict(
        location=str(pinned.location),
        branch=pinned.branch,
        operation=operation,
        base_version=pinned.version,
        resolution=resolution,
        detail=detail,
        ours=met[0] if met else ours,
        theirs=met[1] if met else None,
        their_version=met[2] if met else None,
    )


def write_error(pinned: PinnedDataset, failure: LanceFailure, write_id: str) -> L1Error:
    """Return the error of a failed write: ``OutcomeUnknown`` unless surely nothing was written."""
    error = failure.at(pinned.location)
    if pinned.location.is_local or isinstance(error, (AccessDenied, StorageFull, InvalidRequest)):
        return error
    return OutcomeUnknown(location=str(pinned.location), write_id=write_id, detail=failure.words)
