"""The runs of a repository: begin, find and list them.

Invariant: what counts is whether the target has a commit of the run; the registry follows. A run of
a process that died can be continued, aborted or listed, and blocks no other run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import attrs

from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branch.native_branches import owned_tables, remove_natives
from omnigraph_l2._branch.snapshot import Snapshot
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._errors.translating import public_call
from omnigraph_l2._model.argument_checks import check_text, invalid_argument
from omnigraph_l2._model.deadlines import OPERATION_SECONDS
from omnigraph_l2._model.events import emit
from omnigraph_l2._model.repository_layout import MANIFEST
from omnigraph_l2._runs.begin_run import RunCreator
from omnigraph_l2._runs.run import Run
from omnigraph_l2._runs.run_publish import RunPublisher, published_commits
from omnigraph_l2._store.branch_registry import is_hidden, run_branch
from omnigraph_l2._store.repository_root import RepositoryRoot, check_writable
from omnigraph_l2._store.run_registry import Registry, RunRecord, RunStatus
from omnigraph_l2._transaction.transaction import Transaction
from omnigraph_l2.errors import (
    InvalidRequest,
    OmniGraphError,
    TransactionClosed,
    UnknownBranch,
    UnknownRun,
)

__all__ = ["Runs"]

_REMOVED = declare("l2.run.removed", "the branch of a run that ended is gone")


@attrs.frozen(kw_only=True)
class Runs:
    """The runs of a repository: ``repo.runs``."""

    _root: RepositoryRoot
    _registry: Registry
    _clock: Callable[[], datetime]
    _actor: str | None
    _open: Callable[[str], BranchSession]
    _forget: Callable[[str], None]
    _transact: Callable[..., Transaction]
    _snapshot: Callable[[str], Snapshot]
    _beginner: Callable[[Callable[[RunRecord], RunRecord]], RunCreator]

    def begin(
        self,
        target_branch: str = "main",
        operation_hash: str | None = None,
        actor: str | None = None,
        *,
        timeout: float = OPERATION_SECONDS,
    ) -> Run:
        """Begin a run. The same ``operation_hash`` again gives the run that exists.

        That is so while it runs and once it is published, whatever target is given. Where it was
        aborted or failed, nothing of it was published, and another run is begun in its place.
        """
        check_text("operation_hash", operation_hash)
        check_text("actor", actor)
        with public_call(timeout):
            if is_hidden(target_branch):
                reason = "it is an internal branch"
                raise InvalidRequest(what=f"target branch {target_branch!r}", reason=reason)
            check_writable(self._root)
            record = self._beginner(self._effective_record).begin(
                self._open(target_branch),
                operation_hash=operation_hash,
                actor=self._actor if actor is None else actor,
            )
            return Run(record, self)

    def get(self, run_id: str, *, timeout: float = OPERATION_SECONDS) -> Run:
        """Return a run, also one that another process began."""
        with public_call(timeout):
            return Run(self.read(run_id), self)

    def list(
        self, status: RunStatus | str | None = None, *, timeout: float = OPERATION_SECONDS
    ) -> list[Run]:
        """List the runs, oldest first; of one status only, if that is given."""
        with public_call(timeout):
            wanted = None if status is None else _status(status)
            found = self._all_settled(self._registry.all())
            return [Run(each, self) for each in found if wanted in {None, each.status}]

    # What a run asks for.

    def read(self, run_id: Any) -> RunRecord:
        """Read the state of a run that counts."""
        record = self._registry.get(run_id) if isinstance(run_id, str) else None
        if record is None:
            raise UnknownRun(run_id=str(run_id))
        return self._effective_record(record)

    def transaction(self, record: RunRecord, how: dict[str, Any]) -> Transaction:
        """Begin a transaction on the branch of a run, or raise where it has ended."""
        _check_running(record)
        if self._open(record.run_branch).catalog.refresh().state.closed_at:
            reason = "its publish has begun. Publish it again, or abort it"
            raise InvalidRequest(what=f"transaction of run {record.run_id}", reason=reason)
        return self._transact(record.run_branch, **{"actor": record.actor_id, **how})

    def snapshot(self, record: RunRecord) -> Snapshot:
        """Return the graph as the run sees it."""
        try:
            return self._snapshot(record.run_branch)
        except UnknownBranch as error:
            state = self.read(record.run_id).status.value
            raise TransactionClosed(what="run", state=state) from error

    def publish(
        self, record: RunRecord, message: str | None, timeout: float
    ) -> tuple[RunRecord, GraphCommit | None]:
        """Publish a run, or give what it published before."""
        check_writable(self._root)
        record = self.read(record.run_id)
        target = self._target(record)
        if record.status is RunStatus.PUBLISHED:
            return self._published(record, target)
        _check_running(record)
        self._check_target(record, target)
        try:
            commit = self._publisher(record, target, timeout).publish(message)
        except OmniGraphError as error:
            # Perhaps another process published or ended it, and removed its branch.
            with suppress(OmniGraphError):  # where the store fails, the first error counts
                record = self.read(record.run_id)
            if record.status is RunStatus.PUBLISHED:
                return self._published(record, target)
            if isinstance(error, UnknownBranch) and error.branch == record.run_branch:
                _check_running(record)
            raise
        return self._publish_ended(record, commit), commit

    def _published(
        self, record: RunRecord, target: BranchSession
    ) -> tuple[RunRecord, GraphCommit | None]:
        """Return a run that is published, and its commit."""
        commit_id = record.published_snapshot_id
        commit = None if commit_id is None else target.find(commit_id)
        return self._publish_ended(record, commit), commit

    def _publish_ended(self, record: RunRecord, commit: GraphCommit | None) -> RunRecord:
        """Write down that a run is published. Where it has a commit, that says so already."""
        commit_id = None if commit is None else commit.graph_commit_id
        try:
            return self._end(record, RunStatus.PUBLISHED, commit_id)
        except OmniGraphError as error:
            if commit is None:
                raise
            location = self._root.location
            emit("run_left_behind", location=location, run=record.run_id, error=str(error))
            return _as_published(record, commit)

    def end(self, record: RunRecord, status: RunStatus, reason: str | None = None) -> RunRecord:
        """End a run without publishing it. A second time is no error."""
        check_writable(self._root)
        record = self.read(record.run_id)
        if record.status is RunStatus.PUBLISHED:
            _check_running(record)
        if record.status is not status:
            _check_running(record)
            record = self._registry.move(record, status, reason=reason)
        self._clear(record)
        return record

    def reason(self, record: RunRecord) -> str | None:
        """Read why a run failed."""
        return self._registry.reason(record.run_id)

    # What branches ask for.

    def live(self, run_ids: Sequence[str]) -> tuple[str, ...]:
        """Return which of these are running."""
        return tuple(each.run_id for each in self._read_records(run_ids) if _is_running(each))

    def end_all(self, run_ids: Sequence[str]) -> None:
        """Abort those that are running, and remove the branches of all that are known."""
        for record in self._read_records(run_ids):
            if _is_running(record):
                self._registry.move(record, RunStatus.ABORTED)
            self._clear(record)

    # Inside.

    def _read_records(self, run_ids: Iterable[str]) -> Iterable[RunRecord]:
        for run_id in run_ids:
            record = self._registry.get(run_id)
            if record is not None:
                yield self._effective_record(record)

    def _effective_record(self, record: RunRecord) -> RunRecord:
        """Return the state of a run that counts: a commit of it outranks the registry."""
        return self._all_settled([record])[0]

    def _all_settled(self, records: Sequence[RunRecord]) -> Sequence[RunRecord]:
        asked: dict[str, list[str]] = {}
        for record in records:
            if record.status is not RunStatus.PUBLISHED:
                asked.setdefault(record.target_branch, []).append(record.run_id)
        commits: dict[str, GraphCommit] = {}
        for target, run_ids in asked.items():
            try:
                commits.update(published_commits(self._open(target), run_ids))
            except UnknownBranch:
                continue  # its commits are gone with it
        return [_as_published(record, commits.get(record.run_id)) for record in records]

    def _target(self, record: RunRecord) -> BranchSession:
        return self._open(record.target_branch)

    def _check_target(self, record: RunRecord, target: BranchSession) -> None:
        """Refuse a target that was deleted and created again since the run began."""
        if target.native is None:
            return
        started = self._root.open(MANIFEST).branches().get(record.run_branch)
        if started is not None and started.parent_branch != target.native:
            raise UnknownBranch(location=self._root.location, branch=record.target_branch)

    def _publisher(self, record: RunRecord, target: BranchSession, timeout: float) -> RunPublisher:
        return RunPublisher(
            root=self._root,
            clock=self._clock,
            record=record,
            run_branch=self._open(record.run_branch),
            target=target,
            timeout=timeout,
        )

    def _end(self, record: RunRecord, status: RunStatus, commit_id: str | None) -> RunRecord:
        """Write down that a run is published, unless that is done, and clear its branch away."""
        written = self._registry.get(record.run_id)
        if written is None or written.status is not status:
            record = self._registry.move(record, status, published=commit_id)
        self._clear(record)
        return record

    def _clear(self, record: RunRecord) -> None:
        """Remove the branch of a run that ended, as far as that goes."""
        native = run_branch(record.run_id)
        if record.run_branch != native:
            return
        try:
            tables = owned_tables(self._open(native).catalog.refresh().state)
        except UnknownBranch:
            return
        except OmniGraphError as error:
            emit(
                "run_left_behind", location=self._root.location, run=record.run_id, error=str(error)
            )
            return
        remove_natives(self._root, native, tables)
        self._forget(native)
        failpoint(_REMOVED)


def _as_published(record: RunRecord, commit: GraphCommit | None) -> RunRecord:
    if commit is None:
        return record
    return attrs.evolve(
        record,
        status=RunStatus.PUBLISHED,
        published_snapshot_id=commit.graph_commit_id,
        updated_at=max(record.updated_at, commit.created_at),
    )


def _is_running(record: RunRecord) -> bool:
    return record.status is RunStatus.RUNNING


def _check_running(record: RunRecord) -> None:
    if not _is_running(record):
        raise TransactionClosed(what="run", state=record.status.value)


def _status(status: RunStatus | str) -> RunStatus:
    try:
        return RunStatus(status)
    except ValueError as error:
        known = ", ".join(each.value for each in RunStatus)
        raise invalid_argument(status, "status", f"one of {known}") from error
