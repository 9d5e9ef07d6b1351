"""Restore the content of an older version as the newest, by metadata alone.

Invariant: the result is exactly that content, whatever was committed in between, and what others
committed stays as it was in its own version. (Lance's own ``restore`` carries no id, and was seen
to sleep for twenty seconds.)
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from lance import LanceOperation, Transaction

from omnigraph_l1._dataset.argument_checks import parse_texts, parse_version
from omnigraph_l1._dataset.dataset_opener import at_version, latest
from omnigraph_l1._dataset.durability import (
    flush_version,
    flushing_written,
    make_durable,
    remember_durable,
)
from omnigraph_l1._dataset.pinned_dataset import PinnedDataset
from omnigraph_l1._events import emit, time_event
from omnigraph_l1._transaction_kinds import Resolution
from omnigraph_l1._write.table_commit import (
    CommitResult,
    commit_once,
    flushed_note,
    prepare_to_write,
)
from omnigraph_l1.deadlines import RESTORE_SECONDS, RetryPolicy
from omnigraph_l1.errors import CommitConflict, InvalidRequest
from omnigraph_l1.failpoints import declare, failpoint

__all__ = ["restore"]

_VISIBLE = declare("l1.restore.visible", "the restored version is visible, but not yet flushed")

_POLICY = RetryPolicy(seconds=RESTORE_SECONDS, first_pause=0.005, longest_pause=0.25)
_UNMARKED = 1
"""The version of a dataset whose config does not say yet what decides its versions."""


def restore(pinned: PinnedDataset, version: int, *, properties: Mapping[str, str]) -> CommitResult:
    """Make the content of an older version of this lineage the newest, by metadata alone.

    It is tried again, with short pauses, while other commits keep coming first: its result does
    not depend on them.
    """
    version = parse_version(version, location=pinned.location, branch=pinned.branch)
    noted = parse_texts(properties, location=pinned.location, what="properties")
    prepare_to_write(pinned)
    _refuse_unmarked(pinned, version)
    if version != pinned.version and pinned.flushes:
        make_durable(at_version(pinned, version))
    identity = str(uuid.uuid4())
    with time_event("restore", location=str(pinned.location), branch=pinned.branch, to=version):
        for attempt in _POLICY.tries():
            head = latest(pinned)
            transaction = Transaction(
                read_version=head.version,
                operation=LanceOperation.Restore(version),
                uuid=identity,
                transaction_properties={**noted, **flushed_note(pinned)},
            )
            try:
                dataset = commit_once(head, transaction, "restore")
                break
            except CommitConflict as conflict:
                retryable = conflict.resolution is Resolution.RETRYABLE
                if not retryable or attempt.is_last:
                    raise
            emit("retry", location=str(pinned.location), operation="restore")
    failpoint(_VISIBLE)
    done = pinned.at(dataset)
    with flushing_written(done, identity):
        flush_version(done)
    remember_durable(done)
    return CommitResult(
        pinned=done,
        base_version=version,
        transaction_id=identity,
        # The content is that of the version named, whatever was committed in between.
        follows_base=True,
        changed=True,
    )


def _refuse_unmarked(pinned: PinnedDataset, version: int) -> None:
    """Refuse what would take away the mark by which everyone knows the version store."""
    if (
        not pinned.storage.location.dynamodb_table
        or pinned.branch is not None
        or version != _UNMARKED
    ):
        return
    reason = (
        "version 1 does not say yet that a version store decides; restore version 2, which has no "
        "rows either"
    )
    raise InvalidRequest(location=str(pinned.location), reason=reason)
