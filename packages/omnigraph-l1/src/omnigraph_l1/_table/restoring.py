"""Bringing the content of an older version back as the newest, by metadata alone.

Always: the result is exactly that content, whatever was committed in between, and what others
committed stays as it was in its own version. (Lance's own ``restore`` carries no id, and was seen
to sleep for twenty seconds.)
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Mapping

from lance import LanceOperation, Transaction

from omnigraph_l1._events import emit, timed
from omnigraph_l1._failpoints import declare, failpoint
from omnigraph_l1._resolution import Resolution
from omnigraph_l1._table.arguments import checked_texts, checked_version
from omnigraph_l1._table.committing import ready_to_write
from omnigraph_l1._table.flushing import flush_version
from omnigraph_l1._table.opening import latest
from omnigraph_l1._table.outcomes import Outcome, commit_once
from omnigraph_l1._table.pinned import Pinned
from omnigraph_l1.errors import CommitConflict, InvalidRequest

__all__ = ["restore"]

_VISIBLE = declare("l1.restore.visible", "the restored version is visible, but not yet flushed")

_PATIENCE_SECONDS = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.25
_UNMARKED = 1
"""The version of a dataset whose config does not say yet what decides its versions."""


def restore(pinned: Pinned, version: int, *, properties: Mapping[str, str]) -> Outcome:
    """Make the content of an older version of this lineage the newest, by metadata alone.

    It is tried again, with short pauses, while other commits keep coming first: its result does
    not depend on them.
    """
    version = checked_version(version, place=pinned.place, branch=pinned.branch)
    noted = checked_texts(properties, place=pinned.place, what="what is noted with a commit")
    ready_to_write(pinned)
    _refuse_unmarked(pinned, version)
    identity = str(uuid.uuid4())
    deadline = time.monotonic() + _PATIENCE_SECONDS
    pause = _FIRST_PAUSE
    with timed("restore", place=str(pinned.place), branch=pinned.branch, to=version):
        while True:
            head = latest(pinned)
            transaction = Transaction(
                read_version=head.version,
                operation=LanceOperation.Restore(version),
                uuid=identity,
                transaction_properties=noted,
            )
            try:
                dataset = commit_once(head, transaction, "restore")
                break
            except CommitConflict as conflict:
                retryable = conflict.resolution is Resolution.RETRYABLE
                if not retryable or time.monotonic() > deadline:
                    raise
            emit("retry", place=str(pinned.place), operation="restore")
            time.sleep(random.uniform(0, pause))  # noqa: S311 - spreads writers, guards nothing
            pause = min(2 * pause, _LONGEST_PAUSE)
    failpoint(_VISIBLE)
    done = pinned.at(dataset)
    flush_version(done)
    return Outcome(
        pinned=done,
        base_version=version,
        transaction_id=identity,
        # The content is that of the version named, whatever was committed in between.
        follows_base=True,
        changed=True,
    )


def _refuse_unmarked(pinned: Pinned, version: int) -> None:
    """Refuse what would take away the mark by which everyone knows the version store."""
    if pinned.storage.version_store is None or pinned.branch is not None or version != _UNMARKED:
        return
    reason = (
        "version 1 does not say yet that a version store decides; restore version 2, which has no "
        "rows either"
    )
    raise InvalidRequest(place=str(pinned.place), reason=reason)
