"""Merge small fragments, drop deleted rows from the files, and update indexes.

Invariant: no row changes. Each table is published separately, like any change: changes that others
publish in between are kept, and a table that is always busy delays no other. Readers of older
snapshots are not affected. A crash leaves an unpublished version.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final

import attrs

from omnigraph_l1 import Commit, IndexInfo, IndexKind, Table, new_ulid, table_path
from omnigraph_l1.errors import CommitConflict, DatasetNotFound, OutcomeUnknown
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._catalog.catalog_state import CatalogState, TableEntry, wanted_indexes
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._catalog.publish_plan import Intent
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._commit.commit_operation import NewVersion, Prepared
from omnigraph_l2._commit.writer_queue import lineage
from omnigraph_l2._errors.translating import translate_table_errors
from omnigraph_l2._model.argument_checks import invalid_argument
from omnigraph_l2._model.events import emit
from omnigraph_l2._model.repository_layout import COMMITS, LOG_DATASETS
from omnigraph_l2._store.branch_registry import is_owned_by
from omnigraph_l2._store.exact_commit import done_exactly
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import Conflict, ExpectedVersionMismatch, UnknownTable

__all__ = ["OptimizeReport", "OptimizedTable", "Optimizer", "Outcome", "check_target"]

_ATTEMPTS: Final = 4

_COMPACTED = declare("l2.optimize.compacted", "a table is compacted, unpublished")
_INDEXED = declare("l2.optimize.indexed", "an index of a table is as wanted, unpublished")
_LOGS = declare("l2.optimize.logs", "the datasets of commits and runs are compacted")


class Outcome(enum.Enum):
    """The outcome of a table."""

    OPTIMIZED = "optimized"
    UNCHANGED = "unchanged"
    """There was nothing to do."""
    BUSY = "busy"
    """Others kept publishing it. Nothing was changed; try again later."""
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
        text = f"{self.table_key}: {self.outcome.value}"
        if self.outcome is not Outcome.OPTIMIZED:
            return text
        text += f", {self.fragments_before:,} fragments are {self.fragments_after:,}"
        return text + (f", indexes {', '.join(self.indexes)}" if self.indexes else "")


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

    root: RepositoryRoot
    branch: BranchSession
    clock: Callable[[], datetime]
    actor: str | None
    message: str | None
    target_rows: int
    timeout: float

    def optimize(self, tables: Collection[str] | None) -> OptimizeReport:
        """Optimize some tables, or all; and the catalog and the log."""
        with self.branch.translate_errors():
            return self._optimize_tables(tables)

    def _optimize_tables(self, tables: Collection[str] | None) -> OptimizeReport:
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
        operation = _TableOptimization(
            optimizer=self,
            key=key,
            intent=Intent(
                graph_commit_id=new_ulid(),
                changes=(),
                expected={},
                created_at=self.clock(),
                actor_id=self.actor,
                message=self.message or f"optimize {key}",
            ),
        )
        try:
            with translate_table_errors(key):
                commit = self.branch.commit(operation, timeout=self.timeout)
        except Conflict as conflict:
            emit("optimize_lost", table_key=key, error=str(conflict))
            return OptimizedTable(table_key=key, outcome=Outcome.BUSY)
        if commit is None:
            return operation.found
        return attrs.evolve(operation.found, outcome=Outcome.OPTIMIZED, commit=commit)

    def write_versions(
        self, entry: TableEntry, state: CatalogState
    ) -> tuple[Table, Table, tuple[str, ...]]:
        """Return the version that is published, the one that should be, and the indexes touched."""
        base = made = self.branch.lineage(entry)
        wanted = wanted_indexes(state, entry.table_key)
        touched: dict[str, None] = {}
        # Lance merges only what the same part of an index covers, and L1 the parts, now and then.
        extending = {name for name in made.indexes() if len(made.fragments()) > 1}
        for name, step in _index_steps(made, wanted):
            if name in extending:
                made = done_exactly(made, step)
                touched[name] = None
        made = done_exactly(made, self._compact)
        failpoint(_COMPACTED)
        for name, step in _index_steps(made, wanted):
            made = done_exactly(made, step)
            touched[name] = None
            failpoint(_INDEXED)
        return base, made, tuple(touched)

    def _compact(self, on: Table) -> Commit | None:
        done = on.compact(target_rows=self.target_rows)
        return done if done.changed else None

    def _logs(self) -> None:
        """Merge the fragments of the log: it has one version only that anybody reads."""
        for path in LOG_DATASETS:
            native = self.branch.native if path == COMMITS else None
            try:
                self.root.remember(path, self.root.open(path, branch=native).compact().table)
            except DatasetNotFound:
                continue  # another publisher made none
            except (CommitConflict, OutcomeUnknown) as error:
                emit("optimize_lost", path=path, error=str(error))
        failpoint(_LOGS)


@attrs.define(eq=False, kw_only=True)
class _TableOptimization:
    """The optimization of one table, as an operation of the commit loop."""

    optimizer: Optimizer
    key: str
    intent: Intent
    expected: Mapping[str, int] = MappingProxyType({})
    found: OptimizedTable = attrs.field(init=False)
    _lost: int = 0

    @found.default
    def _nothing_found(self) -> OptimizedTable:
        return OptimizedTable(table_key=self.key, outcome=Outcome.UNCHANGED)

    def lineages(self, _lost: int) -> Collection[str]:
        """Return the lineage of the table."""
        return [lineage(table_path(self.key), self.optimizer.branch.native)]

    def prepare(self, state: CatalogState) -> Prepared | None:
        """Write a compacted and indexed version."""
        self.found = self._nothing_found()
        entry = state.tables.get(self.key)
        if entry is None:  # dropped since
            return None
        if not is_owned_by(entry.table_branch, self.optimizer.branch.native):
            self.found = attrs.evolve(self.found, outcome=Outcome.INHERITED)
            return None
        base, made, indexes = self.optimizer.write_versions(entry, state)
        self.found = attrs.evolve(
            self.found,
            fragments_before=len(base.fragments()),
            fragments_after=len(made.fragments()),
            indexes=indexes,
        )
        # Without facts: that no row changed is found by comparing both versions.
        return (
            None
            if made is base
            else Prepared(changes=(), versions={self.key: NewVersion(table=made)})
        )

    def may_retry(self, _mismatch: ExpectedVersionMismatch) -> bool:
        """Return whether to try again; a table that is always busy is left alone."""
        self._lost += 1
        return self._lost < _ATTEMPTS


def check_target(tables: object, target_rows: object) -> None:
    """Raise ``InvalidRequest`` if an argument of an optimize is invalid."""
    if tables is not None and (isinstance(tables, str) or not isinstance(tables, Collection)):
        raise invalid_argument(tables, "tables", "a collection of table keys, or None for all")
    if isinstance(target_rows, bool) or not isinstance(target_rows, int) or target_rows < 1:
        raise invalid_argument(target_rows, "target_rows", "a whole number >= 1")


def _index_steps(
    table: Table, wanted: Mapping[str, IndexKind]
) -> list[tuple[str, Callable[[Table], Commit | None]]]:
    """Return what there is to do so that a table has the indexes that are wanted, and no others."""
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
    return lambda on: _effective(on.create_index(column, kind))


def _extending(name: str) -> Callable[[Table], Commit | None]:
    return lambda on: _effective(on.extend_index(name))


def _dropping(name: str) -> Callable[[Table], Commit | None]:
    return lambda on: _effective(on.drop_index(name))


def _effective(done: Commit) -> Commit | None:
    return done if done.changed else None
