"""A run: work on its own branch, then publish, abort or fail.

Invariant: any process can resume a run by its id. Its changes are on its branch and invisible until
it is published. A run that ended stays ended, except that a publish overrides abort and fail.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, NoReturn, Protocol

from omnigraph_l2._branch.snapshot import Snapshot
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._errors.translating import public_call, translate_errors
from omnigraph_l2._model.argument_checks import check_text, refuse_pickling
from omnigraph_l2._model.deadlines import OPERATION_SECONDS
from omnigraph_l2._store.run_registry import RunRecord, RunStatus
from omnigraph_l2._transaction.transaction import Transaction

__all__ = ["Run", "RunBackend", "RunStatus"]


class RunBackend(Protocol):
    """What a run needs of the rest of the repository."""

    def read(self, run_id: str) -> RunRecord:
        """Read the state of a run that counts."""

    def transaction(self, record: RunRecord, how: dict[str, Any]) -> Transaction:
        """Begin a transaction on the branch of a run, or raise where it has ended."""

    def snapshot(self, record: RunRecord) -> Snapshot:
        """Return the graph as the run sees it."""

    def publish(
        self, record: RunRecord, message: str | None, timeout: float
    ) -> tuple[RunRecord, GraphCommit | None]:
        """Publish a run, or return what it published before."""

    def end(self, record: RunRecord, status: RunStatus, reason: str | None) -> RunRecord:
        """End a run without publishing it."""

    def reason(self, record: RunRecord) -> str | None:
        """Read why a run failed."""


class Run:
    """Work that becomes one commit, or none. Get one from ``repo.runs``."""

    def __init__(self, record: RunRecord, workshop: RunBackend) -> None:
        self._record = record
        self._workshop = workshop

    @property
    def run_id(self) -> str:
        """The id: ``repo.runs.get`` takes it, in any process. The commit will have it too."""
        return self._record.run_id

    @property
    def target_branch(self) -> str:
        """The branch that it will be published to."""
        return self._record.target_branch

    @property
    def branch(self) -> str:
        """The internal branch that it works on."""
        return self._record.run_branch

    @property
    def base_commit_id(self) -> str:
        """The commit of the target that it started from."""
        return self._record.base_snapshot_id

    @property
    def operation_hash(self) -> str | None:
        """The hash of the operation that it was begun for."""
        return self._record.operation_hash

    @property
    def actor(self) -> str | None:
        """Who began it."""
        return self._record.actor_id

    @property
    def status(self) -> RunStatus:
        """How far it is, as last seen: ``refresh`` looks again."""
        return self._record.status

    @property
    def published_commit_id(self) -> str | None:
        """The commit that it made; None before that, or where it changed nothing."""
        return self._record.published_snapshot_id

    @property
    def created_at(self) -> datetime:
        """When it began."""
        return self._record.created_at

    @property
    def updated_at(self) -> datetime:
        """When its status last changed."""
        return self._record.updated_at

    @property
    def reason(self) -> str | None:
        """Why it failed, if ``fail`` was called with a reason."""
        with translate_errors():
            return self._workshop.reason(self._record)

    def refresh(self, *, timeout: float = OPERATION_SECONDS) -> Run:
        """Read the status again; return the run itself."""
        with public_call(timeout):
            self._record = self._workshop.read(self.run_id)
        return self

    def transaction(self, **how: Any) -> Transaction:
        """Begin a transaction on the run's branch. It takes what ``repo.transaction`` takes."""
        with translate_errors():
            self.refresh()
            return self._workshop.transaction(self._record, how)

    def snapshot(self) -> Snapshot:
        """Return the graph as the run sees it, with what it has done.

        What is read from it does not count as read by the run; what its transactions read does.
        """
        with translate_errors():
            return self._workshop.snapshot(self._record)

    def publish(
        self, message: str | None = None, *, timeout: float = OPERATION_SECONDS
    ) -> GraphCommit | None:
        """Publish all changes as one commit of the target; a repeat returns the same commit.

        Raises ``RunConflict`` where the target changed what the run read or wrote. None where
        there was nothing to publish.
        """
        with public_call(timeout):
            self._record, commit = self._workshop.publish(self._record, message, timeout)
        return commit

    def abort(self, *, timeout: float = OPERATION_SECONDS) -> None:
        """End the run and discard its changes. A publish in progress in another process wins."""
        with public_call(timeout):
            self._record = self._workshop.end(self._record, RunStatus.ABORTED, None)

    def fail(self, reason: str, *, timeout: float = OPERATION_SECONDS) -> None:
        """End the run as failed, with a reason."""
        check_text("reason", reason)
        with public_call(timeout):
            self._record = self._workshop.end(self._record, RunStatus.FAILED, reason)

    def __reduce__(self) -> NoReturn:
        refuse_pickling("a run", "send its run_id, and take it up there with repo.runs.get")

    def __repr__(self) -> str:
        return f"<Run {self.run_id} on {self.target_branch!r}: {self.status.value}>"
