"""Publish a run: all its changes become one commit of its target.

Invariant: nothing that the run read or wrote has changed on the target between its beginning and
the publish. Every step that was acknowledged is in the commit: once all is checked, the branch of
the run is closed, as one that is deleted is, and what it has taken until then counts. The changes
are written to the lineages of the target. The commit has the id of the run, so that there is never
a second one, even after a crash or with several publishers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

import attrs

from omnigraph_l1 import Table
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._catalog.catalog_state import CatalogState, TableEntry
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._catalog.publish_plan import Intent
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._commit.commit_operation import NewVersion, Prepared
from omnigraph_l2._commit.writer_queue import lineage
from omnigraph_l2._errors.translating import translate_table_errors
from omnigraph_l2._runs.run_changes import apply_changes
from omnigraph_l2._store.branch_registry import run_of
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2._store.run_registry import RunRecord
from omnigraph_l2.errors import (
    ExpectedVersionMismatch,
    InvalidRequest,
    RunConflict,
)

__all__ = ["RunPublisher", "published_commits"]

_APPLIED = declare("l2.run.applied", "the changes of a run are on its target, unpublished")
_CLOSED = declare("l2.run.closed", "the run takes no more steps, and is not published yet")


def published_commits(target: BranchSession, run_ids: Sequence[str]) -> dict[str, GraphCommit]:
    """Find the commits that some runs have made on their target, by run."""
    publishes = target.catalog.refresh().state.publishes
    found = {made.commit.run_id: made.commit for made in publishes}
    older = [run_id for run_id in run_ids if run_id not in found]
    for commit in target.find_logged(older) if older else []:
        found[commit.run_id] = commit
    return {run_id: found[run_id] for run_id in run_ids if run_id in found}


@attrs.frozen(kw_only=True)
class _RunStates:
    """What a run has done: its tables before and after, and what it read."""

    before: CatalogState
    after: CatalogState

    @property
    def changed(self) -> Mapping[str, TableEntry]:
        """The tables that it wrote, as they are on its branch."""
        before = self.before.tables
        return {
            key: entry
            for key, entry in self.after.tables.items()
            if key not in before or entry.table_version != before[key].table_version
        }

    @property
    def expected(self) -> Mapping[str, int]:
        """The versions at which the target must still have what it read or wrote."""
        return {key: self.before.latest(key) for key in self.after.reads | self.changed.keys()}


@attrs.frozen(kw_only=True)
class RunPublisher:
    """Publishes one run."""

    root: RepositoryRoot
    clock: Callable[[], datetime]
    record: RunRecord
    run_branch: BranchSession
    target: BranchSession
    timeout: float

    def publish(self, message: str | None) -> GraphCommit | None:
        """Publish; return the commit, an existing one, or None if nothing was changed."""
        intent = Intent(
            graph_commit_id=self.record.run_id,
            changes=(),
            expected={},
            created_at=self.clock(),
            actor_id=self.record.actor_id,
            message=message,
            run_id=self.record.run_id,
            operation_hash=self.record.operation_hash,
        )
        operation = _RunChanges(publisher=self, intent=intent, states=self.states())
        return self.target.commit(operation, timeout=self.timeout)

    def states(self) -> _RunStates:
        """Return what the run has done so far; raise if it did what a run must not do."""
        after = self.run_branch.catalog.refresh().state
        before = self.run_branch.catalog.at(self.record.base_manifest_version).state
        if after.registrations != before.registrations or before.tables.keys() - after.tables:
            reason = "it changed the schema on its branch, and a run can only change rows"
            raise InvalidRequest(what=f"publish of run {self.record.run_id}", reason=reason)
        return _RunStates(before=before, after=after)


@attrs.define(eq=False, kw_only=True)
class _RunChanges:
    """The changes of a run, as an operation of the commit loop on its target."""

    publisher: RunPublisher
    intent: Intent
    states: _RunStates
    expected: Mapping[str, int] = MappingProxyType({})
    is_final: bool = False
    """Whether the run takes no more steps."""

    def lineages(self, _lost: int) -> Collection[str]:
        """Return the lineages of the tables that the run wrote."""
        native = self.publisher.target.native
        return [lineage(each.table_path, native) for each in self.states.changed.values()]

    def prepare(self, state: CatalogState) -> Prepared | None:
        """Apply the changes to the tables of the target, or raise ``RunConflict``."""
        conflicts = self._conflicts(state)
        if conflicts:
            record, target = self.publisher.record, self.publisher.target
            raise RunConflict(run_id=record.run_id, target=target.name, tables=conflicts)
        keys = list(self.states.changed)
        tables = self.publisher.root.at_once(lambda key: self._apply(state.tables[key]), keys)
        versions = {
            key: NewVersion(table=table)
            for key, table in zip(keys, tables, strict=True)
            if table.version != state.latest(key)  # else the run has undone what it did
        }
        if not versions:
            return None if self._take_last_steps() else self.prepare(state)
        failpoint(_APPLIED)
        return Prepared(
            changes=(),
            versions=versions,
            relies_on=frozenset(self.states.expected),
            confirm=self._take_last_steps,
        )

    def _take_last_steps(self) -> bool:
        """Let the run take no more steps; return False if it has taken some since it was read."""
        if self.is_final:
            return True
        publisher, seen = self.publisher, self.states.after.last_sequence
        if run_of(publisher.record.run_branch) is not None:  # else another program made it
            publisher.run_branch.close(publisher.record.run_branch, timeout=publisher.timeout)
        failpoint(_CLOSED)
        self.states, self.is_final = publisher.states(), True
        return self.states.after.last_sequence == seen

    def may_retry(self, _mismatch: ExpectedVersionMismatch) -> bool:
        """Return that it may be tried again: what conflicts with the run is found then."""
        return True

    def _conflicts(self, state: CatalogState) -> tuple[str, ...]:
        expected = self.states.expected.items()
        return tuple(sorted(key for key, version in expected if state.latest(key) != version))

    def _apply(self, entry: TableEntry) -> Table:
        key = entry.table_key
        made = self.states.changed[key]
        with translate_table_errors(key):
            done = self.publisher.root.open(
                made.table_path, branch=made.table_branch, version=made.table_version
            )
            return apply_changes(self.publisher.target.lineage(entry), done, entry.table_version)
