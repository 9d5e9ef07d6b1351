"""The commit loop: the one path by which a change of a graph is prepared, checked and published.

1. Wait for a turn on the tables that the operation writes.
2. Read the state of the branch; if the operation was published before, return that commit.
3. ``prepare``: the operation writes its versions onto this state, unpublished.
4. Check the integrity rules for what the publish changes against this state.
5. Publish, if everything that was read is unchanged then: ``ManifestBatchPublisher``.
6. After a lost race begin again, until the deadline.

Invariant: a check that was made on one state is never used for another. The publish expects every
table that was written, relied on or read by a check, and every declaration, to be as it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Final, Protocol

import attrs

from omnigraph_l1 import Table
from omnigraph_l2._catalog.catalog_state import CatalogState, unique_properties
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._catalog.manifest_rows import version_metadata
from omnigraph_l2._catalog.publish_plan import (
    Change,
    Intent,
    TableUpdate,
    check_expectations,
    operation_digest,
    plan,
)
from omnigraph_l2._commit.commit_operation import NewVersion, Operation, Prepared
from omnigraph_l2._commit.integrity import check_integrity
from omnigraph_l2._commit.leases import Pin
from omnigraph_l2._commit.publisher import ManifestBatchPublisher, WriteStatus
from omnigraph_l2._commit.writer_queue import WriterQueue
from omnigraph_l2._errors.translating import translate_table_errors
from omnigraph_l2._model.events import emit
from omnigraph_l2._store.exact_commit import compact_if_due
from omnigraph_l2._store.manifest_store import ManifestStore
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import ExpectedVersionMismatch, OmniGraphError, OperationRepeated

__all__ = ["CommitHistory", "CommitLoop"]

_FRESH_SECONDS: Final = 2.0
"""In a store, an attempt may begin on a state of this age. The publish reads a newer one."""


class CommitHistory(Protocol):
    """The commits of a branch, as far as the loop asks for them."""

    def find(self, commit_id: str) -> GraphCommit | None:
        """Find a commit of the branch."""

    def find_operation(self, state: CatalogState, digest: str) -> str | None:
        """Return the id of the commit that an operation made."""


@attrs.frozen(kw_only=True)
class CommitLoop:
    """Commits operations on one branch. Threads may share it."""

    root: RepositoryRoot
    catalog: ManifestStore
    queue: WriterQueue
    publisher: ManifestBatchPublisher
    history: CommitHistory
    clock: Callable[[], datetime]

    def commit(
        self, operation: Operation, *, pin: Pin, status: WriteStatus, timeout: float
    ) -> GraphCommit | None:
        """Publish an operation; return its commit, an earlier one, or None if nothing changed."""
        deadline = time.monotonic() + timeout
        location = self.root.location
        # On a local disk the newest state costs nothing. In a store it is a request, and what was
        # prepared on an older one is only wasted.
        lost, is_fresh = 0, self.root.storage.location.is_local
        while True:
            with self.queue.take(operation.lineages(lost), lost=lost):
                loaded = self.catalog.refresh() if is_fresh else self.catalog.recent(_FRESH_SECONDS)
                try:
                    ready = self._prepare(operation, loaded.state)
                except OmniGraphError:
                    # What is wrong on a state that is not the newest may be right on that one.
                    if is_fresh or self.catalog.refresh().state.version == loaded.state.version:
                        raise
                    is_fresh = True
                    continue
                if not isinstance(ready, Intent):
                    return ready
                try:
                    made = self.publisher.publish(
                        ready, pin=pin, status=status, location=location, deadline=deadline
                    )
                except (ExpectedVersionMismatch, OperationRepeated) as race:
                    if not _may_retry(operation, race, deadline):
                        raise
                else:
                    return made.commit
            lost, is_fresh = lost + 1, True
            emit("commit_retry", location=location, lost=lost)

    def _prepare(self, operation: Operation, state: CatalogState) -> Intent | GraphCommit | None:
        """Return the commit to publish on a state, an earlier one, or None for no change."""
        done = self._find_done(operation.intent, state)
        if done is not None:
            return done
        check_expectations(state, operation.expected)
        prepared = operation.prepare(state)
        if prepared is not None:
            intent = self._check(operation, prepared, state)
            if prepared.confirm is not None and not prepared.confirm():
                return self._prepare(operation, state)
            return intent
        if operation.expected:
            check_expectations(self.catalog.refresh().state, operation.expected)
        return None

    def _find_done(self, intent: Intent, state: CatalogState) -> GraphCommit | None:
        """Find the commit of an operation that was published before, by whatever process."""
        if intent.graph_commit_id == intent.run_id:
            done = self.history.find(intent.graph_commit_id)
            if done is not None:
                return done
        if intent.operation_hash is None:
            return None
        digest = operation_digest(intent.operation_hash)
        commit_id = self.history.find_operation(state, digest)
        return None if commit_id is None else self.history.find(commit_id)

    def _check(self, operation: Operation, prepared: Prepared, state: CatalogState) -> Intent:
        """Check what was prepared on a state; return the commit that is published if it holds."""
        intent = attrs.evolve(
            operation.intent,
            changes=self._changes(prepared),
            created_at=max(self.clock(), operation.intent.created_at),
            not_done_through=state.last_sequence,
            same_types_as=state,
        )
        after = plan(state, intent, state.head).after
        read = check_integrity(self.root, self.catalog, state, after, prepared)
        written = {change.table_key for change in intent.changes}
        relied_on = written | read | prepared.relies_on
        return attrs.evolve(
            intent,
            changes=self._changes(self._compact(prepared, after)),
            reads=frozenset() if prepared.run_reads is None else prepared.run_reads | read,
            expected={
                **{key: state.latest(key) for key in sorted(relied_on)},
                **operation.expected,
            },
        )

    def _changes(self, prepared: Prepared) -> tuple[Change, ...]:
        updates = (
            _update_of(key, each.table, is_durable=self.root.is_durable)
            for key, each in prepared.versions.items()
        )
        return (*prepared.changes, *updates)

    def _compact(self, prepared: Prepared, after: CatalogState) -> Prepared:
        """Merge small fragments of the tables that the operation has written, where that is due.

        What it hands over from another branch stays as it is.
        """

        def compacted(key: str) -> NewVersion:
            version, table = prepared.versions[key], prepared.versions[key].table
            if not version.is_handed_over:
                with translate_table_errors(key):
                    table = compact_if_due(table, ("id", *unique_properties(after, key)))
            table.make_durable()
            self.root.remember(after.tables[key].table_path, table)
            return attrs.evolve(version, table=table)

        keys = list(prepared.versions)
        versions = self.root.at_once(compacted, keys)
        return attrs.evolve(prepared, versions=dict(zip(keys, versions, strict=True)))


def _may_retry(
    operation: Operation, race: ExpectedVersionMismatch | OperationRepeated, deadline: float
) -> bool:
    if isinstance(race, OperationRepeated):
        return True  # another writer has just done it: the next attempt finds its commit
    is_callers = race.table_key in operation.expected
    return not is_callers and time.monotonic() <= deadline and operation.may_retry(race)


def _update_of(table_key: str, table: Table, *, is_durable: bool) -> TableUpdate:
    """Return the change that makes a version of a table visible."""
    return TableUpdate(
        table_key=table_key,
        table_version=table.version,
        table_branch=table.branch,
        row_count=table.count(),
        metadata=version_metadata(table.manifest_path, is_durable=is_durable),
    )
