"""Begin a run: create its branch, then its name for the operation, then its registry entry.

Invariant: a run that the registry or an operation names has its branch already. If several
processes begin one operation, one of them defines it; the others return that run, and register it
if its author did not.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import attrs

from omnigraph_l1 import new_ulid
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branch.native_branches import fork_natives, remove_natives
from omnigraph_l2._branch.revision_resolver import RevisionResolver
from omnigraph_l2._catalog.publish_plan import operation_digest
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._store.branch_registry import run_branch
from omnigraph_l2._store.commit_log import CommitLog
from omnigraph_l2._store.operation_records import Named, Operations
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2._store.run_registry import Registry, RunRecord, RunStatus
from omnigraph_l2.errors import OmniGraphError

__all__ = ["RunCreator"]

_FORKED = declare("l2.run.forked", "a run has its branch, and nothing names the run")
_NAMED = declare("l2.run.named", "an operation names a run, the registry does not have it yet")

_ENDED = frozenset({RunStatus.ABORTED, RunStatus.FAILED})


@attrs.frozen(kw_only=True)
class RunCreator:
    """Begins runs."""

    root: RepositoryRoot
    log: CommitLog
    references: RevisionResolver
    registry: Registry
    operations: Operations
    clock: Callable[[], datetime]
    settled: Callable[[RunRecord], RunRecord]
    """Return the state of a run that counts, whatever the registry has."""

    def begin(
        self, target: BranchSession, *, operation_hash: str | None, actor: str | None
    ) -> RunRecord:
        """Begin a run, or return the one that the operation began before and that has not ended."""
        if operation_hash is None:
            record = self._fork(target, None, actor)
            self.registry.add(record)
            return record
        digest = operation_digest(operation_hash)
        while True:
            named = self.operations.get(digest)
            existing = None if named is None else self._existing(named)
            if existing is not None:
                return existing
            record = self._record_finished(target, operation_hash, actor) or self._fork(
                target, operation_hash, actor
            )
            if self.operations.name(digest, record, named):
                failpoint(_NAMED)
                self.registry.add(record)
                return record
            remove_natives(self.root, record.run_branch, ())

    def _existing(self, named: Named) -> RunRecord | None:
        record = self.registry.get(named.record.run_id)
        if record is None:
            record = named.record
            self.registry.add(record)
        record = self.settled(record)
        return None if record.status in _ENDED else record

    def _fork(
        self, target: BranchSession, operation_hash: str | None, actor: str | None
    ) -> RunRecord:
        run_id = new_ulid()
        native = run_branch(run_id)
        self.references.take_lease()
        start = self.references.at_head(target)
        try:
            version = fork_natives(self.root, self.log, native, start)
            self.references.check_retained(start)
        except OmniGraphError:
            remove_natives(self.root, native, ())
            self.references.check_retained(start)  # then that is the reason
            raise
        failpoint(_FORKED)
        now = self.clock()
        return RunRecord(
            run_id=run_id,
            target_branch=target.name,
            run_branch=native,
            base_snapshot_id=start.commit_id or f"manifest:{target.name}:v{version}",
            base_manifest_version=version,
            operation_hash=operation_hash,
            status=RunStatus.RUNNING,
            published_snapshot_id=None,
            created_at=now,
            updated_at=now,
            actor_id=actor,
        )

    def _record_finished(
        self, target: BranchSession, operation_hash: str, actor: str | None
    ) -> RunRecord | None:
        """Return a published run record if a transaction has done the operation."""
        state = target.catalog.refresh().state
        commit_id = target.find_operation(state, operation_digest(operation_hash))
        commit = None if commit_id is None else target.find(commit_id)
        if commit is None:
            return None
        run_id, now = new_ulid(), self.clock()
        return RunRecord(
            run_id=run_id,
            target_branch=target.name,
            run_branch=run_branch(run_id),
            base_snapshot_id=commit.graph_commit_id,
            base_manifest_version=commit.manifest_version,
            operation_hash=operation_hash,
            status=RunStatus.PUBLISHED,
            published_snapshot_id=commit.graph_commit_id,
            created_at=now,
            updated_at=now,
            actor_id=actor,
        )
