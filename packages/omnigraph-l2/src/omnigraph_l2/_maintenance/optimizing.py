"""Merging small fragments, dropping deleted rows from the files, keeping indexes up.

Always: no row changes. Each table is published by itself, like any change: what others published
meanwhile is never lost, and one table that is never at rest holds up no other. Who reads an older
snapshot goes on. A crash leaves a version that nobody published.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Final

import attrs

from omnigraph_l1 import Commit, IndexInfo, IndexKind, Table, new_ulid
from omnigraph_l1.errors import CommitConflict, DatasetNotFound, OutcomeUnknown
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2._branches.names import is_owned_by
from omnigraph_l2._catalog.changes import Intent, TableUpdate
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._catalog.declarations import wanted_indexes
from omnigraph_l2._catalog.state import CatalogState, TableEntry
from omnigraph_l2._errors.translating import table_border
from omnigraph_l2._events import emit
from omnigraph_l2._publishing.turns import Turns, lineage
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.layout import (
    COMMIT_ACTORS,
    COMMIT_NOTES,
    COMMITS,
    COMMITS_KEPT,
    RUN_ACTORS,
    RUNS,
)
from omnigraph_l2._transactions.exact import done_exactly
from omnigraph_l2._transactions.version_facts import version_metadata
from omnigraph_l2.errors import Conflict, UnknownTable

__all__ = ["OptimizeReport", "OptimizedTable", "Optimizer", "Outcome"]

_ATTEMPTS: Final = 4

_COMPACTED = declare("l2.optimize.compacted", "a table is compacted, and nobody can see it")
_INDEXED = declare("l2.optimize.indexed", "an index of a table is as wanted, nobody can see it")
_LOGS = declare("l2.optimize.logs", "the datasets of commits and runs are compacted")


class Outcome(enum.Enum):
    """What became of a table."""

    OPTIMIZED = "optimized"
    UNCHANGED = "unchanged"
    """There was nothing to do."""
    BUSY = "busy"
    """Others published it again and again meanwhile. Nothing was changed; try again later."""
    INHERITED = "inherited"
    """The branch shows the version of another branch: optimize that one."""


@attrs.frozen(kw_only=True)
class OptimizedTable:
    """What ``optimize`` did to one table."""

    table_key: str
    outcome: Outcome
    fragments_before: int = 0
    fragments_after: int = 0
    indexes: tuple[str, ...] = ()
    """The indexes that were built, extended or dropped."""
    commit: GraphCommit | None = None

    def __str__(self) -> str:
        told = f"{self.table_key}: {self.outcome.value}"
        if self.outcome is not Outcome.OPTIMIZED:
            return told
        told += f", {self.fragments_before:,} fragments are {self.fragments_after:,}"
        return told + (f", indexes {', '.join(self.indexes)}" if self.indexes else "")


@attrs.frozen(kw_only=True)
class OptimizeReport:
    """What ``optimize`` did."""

    tables: Mapping[str, OptimizedTable]
    catalog: bool
    """Whether the catalog was compacted."""

    @property
    def busy(self) -> tuple[str, ...]:
        """The tables that others were writing to all the time."""
        return tuple(key for key, each in self.tables.items() if each.outcome is Outcome.BUSY)

    def __str__(self) -> str:
        catalog = "the catalog was compacted" if self.catalog else "the catalog needed nothing"
        return "\n".join([*map(str, self.tables.values()), catalog])


@attrs.frozen(kw_only=True)
class Optimizer:
    """Optimizes one branch."""

    root: Root
    branch: GraphBranch
    turns: Turns
    clock: Callable[[], datetime]
    actor: str | None
    message: str | None
    target_rows: int
    timeout: float

    def optimize(self, tables: Collection[str] | None) -> OptimizeReport:
        """Optimize some tables, or all; and the catalog and the log."""
        with self.branch.border():
            return self._optimized(tables)

    def _optimized(self, tables: Collection[str] | None) -> OptimizeReport:
        known = self.branch.catalog.refresh().state.tables
        for key in tables or ():
            if key not in known:
                raise UnknownTable(table_key=key, known=tuple(known))
        keys = sorted(known if tables is None else set(tables))
        done = {key: self._table(key) for key in keys}
        catalog = self.branch.tidy_catalog()
        self._logs()
        return OptimizeReport(tables=done, catalog=catalog)

    def _table(self, key: str) -> OptimizedTable:
        for lost in range(_ATTEMPTS):
            hold = self.branch.hold()
            state = self.branch.catalog.refresh().state
            entry = state.tables.get(key)
            if entry is None:  # dropped meanwhile
                return OptimizedTable(table_key=key, outcome=Outcome.UNCHANGED)
            if not self._is_own(entry):
                return OptimizedTable(table_key=key, outcome=Outcome.INHERITED)
            try:
                wanted = [lineage(entry.table_path, self.branch.native)]
                with self.turns.take(wanted, lost=lost), table_border(key):
                    base, made, indexes = self._made(entry, state)
                    found = OptimizedTable(
                        table_key=key,
                        outcome=Outcome.UNCHANGED,
                        fragments_before=len(base.fragments()),
                        fragments_after=len(made.fragments()),
                        indexes=indexes,
                    )
                    if made is base:
                        return found
                    commit = self.branch.publish(
                        self._intent(entry, made), timeout=self.timeout, hold=hold
                    )
            except Conflict as conflict:
                emit("optimize_lost", table_key=key, lost=lost, error=str(conflict))
                continue
            self.root.remember(entry.table_path, made)
            return attrs.evolve(found, outcome=Outcome.OPTIMIZED, commit=commit)
        return OptimizedTable(table_key=key, outcome=Outcome.BUSY)

    def _is_own(self, entry: TableEntry) -> bool:
        native = self.branch.native
        if native is None:
            return entry.table_branch is None
        return is_owned_by(entry.table_branch, native)

    def _made(self, entry: TableEntry, state: CatalogState) -> tuple[Table, Table, tuple[str, ...]]:
        """Give the version that is published, the one that should be, and the indexes touched."""
        base = made = self.branch.lineage(entry)
        wanted = wanted_indexes(state, entry.table_key)
        touched: dict[str, None] = {}
        # Lance merges only what the same part of an index covers, and L1 the parts, now and then.
        extending = {name for name in made.indexes() if len(made.fragments()) > 1}
        for name, step in _index_steps(made, wanted):
            if name in extending:
                made = done_exactly(made, step)
                touched[name] = None
        made = done_exactly(made, self._compacted)
        failpoint(_COMPACTED)
        for name, step in _index_steps(made, wanted):
            made = done_exactly(made, step)
            touched[name] = None
            failpoint(_INDEXED)
        return base, made, tuple(touched)

    def _compacted(self, on: Table) -> Commit | None:
        done = on.compact(target_rows=self.target_rows)
        return done if done.changed else None

    def _intent(self, entry: TableEntry, made: Table) -> Intent:
        return Intent(
            graph_commit_id=new_ulid(),
            changes=(
                TableUpdate(
                    table_key=entry.table_key,
                    table_version=made.version,
                    table_branch=made.branch,
                    row_count=made.count(),
                    metadata=version_metadata(made),
                ),
            ),
            expected={entry.table_key: entry.table_version},
            created_at=self.clock(),
            actor_id=self.actor,
            message=self.message or f"optimize {entry.table_key}",
        )

    def _logs(self) -> None:
        """Merge the fragments of the log: it has one version only that anybody reads."""
        for path in (COMMITS, COMMITS_KEPT, COMMIT_ACTORS, COMMIT_NOTES, RUNS, RUN_ACTORS):
            native = self.branch.native if path == COMMITS else None
            try:
                self.root.remember(path, self.root.open(path, branch=native).compact().table)
            except DatasetNotFound:
                continue  # the original program made none
            except (CommitConflict, OutcomeUnknown) as error:
                emit("optimize_lost", path=path, error=str(error))
        failpoint(_LOGS)


def _index_steps(
    table: Table, wanted: Mapping[str, IndexKind]
) -> list[tuple[str, Callable[[Table], Commit | None]]]:
    """Tell what there is to do so that a table has the indexes that are wanted, and no others."""
    steps: list[tuple[str, Callable[[Table], Commit | None]]] = []
    present = table.indexes()
    for column, kind in wanted.items():
        if column not in table.schema.names or not table.count():
            continue
        info = next((each for each in present.values() if _is(each, column, kind)), None)
        if info is None:
            steps.append((_name(column, kind), _creating(column, kind)))
        elif info.unindexed_fragments:
            steps.append((info.name, _extending(info.name)))
    for name, info in present.items():
        ours = [kind for kind in IndexKind if name == _name(info.columns[0], kind)]
        if ours and wanted.get(info.columns[0]) is not ours[0]:
            steps.append((name, _dropping(name)))
    return steps


def _is(info: IndexInfo, column: str, kind: IndexKind) -> bool:
    return info.columns == (column,) and (
        info.kind == kind.value or info.name == _name(column, kind)
    )


def _name(column: str, kind: IndexKind) -> str:
    return f"{column}_{kind.value.lower()}"


def _creating(column: str, kind: IndexKind) -> Callable[[Table], Commit | None]:
    return lambda on: _changed(on.create_index(column, kind))


def _extending(name: str) -> Callable[[Table], Commit | None]:
    return lambda on: _changed(on.extend_index(name))


def _dropping(name: str) -> Callable[[Table], Commit | None]:
    return lambda on: _changed(on.drop_index(name))


def _changed(done: Commit) -> Commit | None:
    return done if done.changed else None
