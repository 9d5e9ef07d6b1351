"""Publishing a run: all that it changed becomes one commit of its target.

Always: nothing that the run read or wrote has changed on the target since it began, up to the very
moment of the publish. The changes are put on the target's own lineages. The commit bears the id of
the run, so that there is never a second one, whoever publishes and whoever crashed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import attrs

from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2._catalog.changes import Intent, TableUpdate
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._catalog.declarations import unique_properties
from omnigraph_l2._catalog.planning import operation_digest
from omnigraph_l2._catalog.state import CatalogState, TableEntry
from omnigraph_l2._errors.translating import table_border
from omnigraph_l2._publishing.turns import Turns, lineage
from omnigraph_l2._runs.applying import applied
from omnigraph_l2._runs.records import RunRecord
from omnigraph_l2._storage import Root
from omnigraph_l2._transactions.version_facts import version_metadata
from omnigraph_l2.errors import (
    ExpectedVersionMismatch,
    InvalidRequest,
    OperationRepeated,
    RunConflict,
)

__all__ = ["RunPublisher", "published_commit", "published_commits"]

_APPLIED = declare("l2.run.applied", "the changes of a run are on its target, nobody sees them")


def published_commit(target: GraphBranch, run_id: str) -> GraphCommit | None:
    """Find the commit that a run has made on its target."""
    return published_commits(target, [run_id]).get(run_id)


def published_commits(target: GraphBranch, run_ids: Sequence[str]) -> dict[str, GraphCommit]:
    """Find the commits that some runs have made on their target, by run."""
    publishes = target.catalog.refresh().state.publishes
    found = {made.commit.run_id: made.commit for made in publishes}
    older = [run_id for run_id in run_ids if run_id not in found]
    for commit in target.find_logged(older) if older else []:
        found[commit.run_id] = commit
    return {run_id: found[run_id] for run_id in run_ids if run_id in found}


@attrs.frozen(kw_only=True)
class _Work:
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

    root: Root
    turns: Turns
    clock: Callable[[], datetime]
    record: RunRecord
    work: GraphBranch
    """The branch of the run."""
    target: GraphBranch
    timeout: float

    def publish(self, message: str | None) -> GraphCommit | None:
        """Publish; give the commit, the one that exists, or None where nothing was changed."""
        deadline = time.monotonic() + self.timeout
        hold = self.target.hold()
        lost = 0
        while True:
            done = published_commit(self.target, self.record.run_id) or self._same_operation()
            if done is not None:
                return done
            work = self._work()
            wanted = [
                lineage(each.table_path, self.target.native) for each in work.changed.values()
            ]
            with self.turns.take(wanted, lost=lost):
                state = self.target.catalog.refresh().state
                if self._conflicts(work, state):
                    # Perhaps with ourselves: another process may have published this run.
                    done = published_commit(self.target, self.record.run_id)
                    if done is not None:
                        return done
                    raise RunConflict(
                        run_id=self.record.run_id,
                        target=self.target.name,
                        tables=self._conflicts(work, state),
                    )
                intent = self._intent(work, state, message)
                if not intent.changes:
                    return None
                failpoint(_APPLIED)
                try:
                    left = max(1.0, deadline - time.monotonic())
                    return self.target.publish(intent, timeout=left, hold=hold)
                except (ExpectedVersionMismatch, OperationRepeated):
                    lost += 1

    def _work(self) -> _Work:
        after = self.work.catalog.refresh().state
        before = self.work.catalog.at(self.record.base_manifest_version).state
        if after.registrations != before.registrations or before.tables.keys() - after.tables:
            reason = "it changed the schema on its branch, and a run can only change rows"
            raise InvalidRequest(what=f"Publishing run {self.record.run_id}", reason=reason)
        return _Work(before=before, after=after)

    def _conflicts(self, work: _Work, state: CatalogState) -> tuple[str, ...]:
        return tuple(
            sorted(
                key
                for key, version in work.expected.items()
                if state.latest(key) != version
                or (key in work.before.tables) != (key in state.tables)
            )
        )

    def _same_operation(self) -> GraphCommit | None:
        """Find the commit of a transaction that did the same operation meanwhile."""
        if self.record.operation_hash is None:
            return None
        digest = operation_digest(self.record.operation_hash)
        commit_id = self.target.operation(self.target.catalog.refresh().state, digest)
        return None if commit_id is None else self.target.find(commit_id)

    def _intent(self, work: _Work, state: CatalogState, message: str | None) -> Intent:
        keys = list(work.changed)
        updates = self.root.at_once(lambda key: self._update(work, state.tables[key]), keys)
        return Intent(
            graph_commit_id=self.record.run_id,
            changes=tuple(each for each in updates if each is not None),
            expected=work.expected,
            expects_visible=True,
            created_at=self.clock(),
            actor_id=self.record.actor_id,
            message=message,
            run_id=self.record.run_id,
            operation_hash=self.record.operation_hash,
        )

    def _update(self, work: _Work, entry: TableEntry) -> TableUpdate | None:
        key = entry.table_key
        made = work.changed[key]
        with table_border(key):
            done = self.root.open(
                made.table_path, branch=made.table_branch, version=made.table_version
            )
            indexed = ("id", *unique_properties(work.after, key))
            result = applied(self.target.lineage(entry), done, entry.table_version, indexed)
            if result.version == entry.table_version:
                return None  # what the run did to it, it undid
            self.root.remember(entry.table_path, result)
            return TableUpdate(
                table_key=key,
                table_version=result.version,
                table_branch=result.branch,
                row_count=result.count(),
                metadata=version_metadata(result),
            )
