"""A transaction as an operation of the commit loop: its changes by table, rebased and applied.

Also what a transaction on the branch of a run has read, which is recorded there for the publish of
the run.

Invariants: a change holds all that it takes to apply it on another version of its table, so that a
retry does not need the user's data again, and its files are written once. Changes are applied as
late as possible: when the transaction reads its own changes, or when it commits. A table moves to a
newer version only where that has the same result. Everything that the transaction wrote, expected
or read counts as read on the branch of a run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import attrs

from omnigraph_l1 import Staged, Table, WrittenChanges, WrittenFragments
from omnigraph_l1.errors import CommitConflict, InvalidRequest, UnknownVersion
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._catalog.catalog_state import CatalogState, TableEntry
from omnigraph_l2._catalog.publish_plan import Intent
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._commit.commit_operation import NewVersion, Prepared, RowFacts, RowStep
from omnigraph_l2._commit.writer_queue import lineage
from omnigraph_l2._errors.translating import translate_table_errors
from omnigraph_l2._rows.data_problems import translate_data_errors
from omnigraph_l2._rows.id_set import IdSet
from omnigraph_l2._rows.pinned_reads import IdLookup, is_same_pin
from omnigraph_l2._rows.spill_file import Spool
from omnigraph_l2._store.exact_commit import commit_exactly
from omnigraph_l2._store.manifest_store import ManifestStore
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import ExpectedVersionMismatch, SnapshotExpired

__all__ = [
    "Append",
    "Changed",
    "DeleteIds",
    "DeleteWhere",
    "Operation",
    "Overwrite",
    "PendingTable",
    "ReadSet",
    "TransactionOperation",
    "Upsert",
]


class Operation(Protocol):
    """One change of one table."""

    @property
    def fits_any_base(self) -> bool:
        """Whether it means the same on a later version of the table."""

    def stage(self, on: Table) -> Staged:
        """Compute it on a version."""

    def close(self) -> None:
        """Release temporary files."""


@attrs.frozen(kw_only=True)
class Append:
    """Add rows that are written already."""

    written: tuple[WrittenFragments, ...]
    ids: IdSet | None
    """The ids of the rows; None where others wrote them, and they have to be read."""
    ends: tuple[IdSet, IdSet] | None = None
    checked_at: int | None = None
    """The version of the graph at which the caller has checked them itself."""
    is_foreign: bool = False
    """Whether some were written for another transaction, whose pin is gone."""
    fits_any_base: bool = attrs.field(default=True, init=False)

    def stage(self, on: Table) -> Staged:
        """Add them."""
        staged = on.stage_written(self.written)
        if self.ids is None:
            _refuse_present(on, staged)
        return _present_files(on, staged) if self.is_foreign else staged

    def close(self) -> None:
        """Let go of ids."""
        _close(self.ids, *(self.ends or ()))


@attrs.frozen(kw_only=True)
class Overwrite:
    """Replace all rows by rows that are written already."""

    written: tuple[WrittenFragments, ...]
    ids: IdSet | None
    ends: tuple[IdSet, IdSet] | None = None
    checked_at: int | None = None
    is_foreign: bool = False
    fits_any_base: bool = attrs.field(default=False, init=False)

    def stage(self, on: Table) -> Staged:
        """Replace all."""
        staged = on.stage_written(self.written, replace_all=True)
        return _present_files(on, staged) if self.is_foreign else staged

    def close(self) -> None:
        """Let go of ids."""
        _close(self.ids, *(self.ends or ()))


@attrs.frozen(kw_only=True)
class Upsert:
    """Replace rows by id, and add the others."""

    rows: Spool
    ends: tuple[IdSet, IdSet] | None = None
    fits_any_base: bool = attrs.field(default=True, init=False)

    def stage(self, on: Table) -> Staged:
        """Match by id."""
        return on.stage_upsert(self.rows.reader(), "id")

    def close(self) -> None:
        """Let go of rows and ids."""
        _close(self.rows, *(self.ends or ()))


@attrs.frozen(kw_only=True)
class DeleteWhere:
    """Delete the rows that a filter matches.

    What it matched was found in the version at which the transaction began. On a later one it means
    the same if it matches as many rows there, and those that were found are unchanged.
    """

    predicate: str
    found: Staged | None
    """The rows that it matched; None after other changes of the table, which it has to see."""

    @property
    def fits_any_base(self) -> bool:
        """Whether it can be compared with what it matches on a later version."""
        return self.found is not None

    def stage(self, on: Table) -> Staged:
        """Mark them."""
        return on.stage_delete(self.predicate) if self.found is None else on.rebase(self.found)

    def close(self) -> None:
        """Nothing is kept."""


@attrs.frozen(kw_only=True)
class DeleteIds:
    """Delete the rows with these ids, where they are there."""

    ids: tuple[str, ...]
    fits_any_base: bool = attrs.field(default=True, init=False)

    def stage(self, on: Table) -> Staged:
        """Find and mark them."""
        return on.stage_delete_keys("id", self.ids)

    def close(self) -> None:
        """Nothing is kept."""


@attrs.frozen(kw_only=True)
class Changed:
    """Change rows by files that others have written already."""

    written: tuple[WrittenChanges, ...]
    checked_at: int | None = None
    is_foreign: bool = False
    fits_any_base: bool = attrs.field(default=True, init=False)

    @property
    def updated_files(self) -> frozenset[str]:
        """The files of updated rows."""
        return frozenset[str]().union(*(part.updated_files for part in self.written))

    def stage(self, on: Table) -> Staged:
        """Apply the staged change."""
        staged = on.stage_changed(self.written, key="id")
        _refuse_present(on, staged)
        return _present_files(on, staged) if self.is_foreign else staged

    def close(self) -> None:
        """Nothing is kept."""


def _refuse_present(on: Table, staged: Staged) -> None:
    """Raise if a version has the files of staged work already: its rows would be there twice."""
    there = {Path("data") / name for files in on.fragment_files().values() for name in files.data}
    if not there.isdisjoint(staged.new_files()):
        reason = "the staged rows are in the table already: staged work is published once"
        raise InvalidRequest(location=str(on.location), reason=reason)


def _present_files(on: Table, staged: Staged) -> Staged:
    """Return a staged change; raise if a cleanup has removed a file of it."""
    on.check_files(staged)
    return staged


def _close(*kept: IdSet | Spool | None) -> None:
    for each in kept:
        if each is not None:
            each.close()


_LOOKED_UP_AT_ONCE = 262_144
_NOT_THE_SAME = (CommitConflict, InvalidRequest, UnknownVersion)
"""What says that changed rows cannot be rebased: others changed them, or the columns."""


@attrs.define(eq=False, kw_only=True)
class PendingTable:
    """A table that a transaction changes."""

    entry: TableEntry
    lookups: IdLookup
    catalog: ManifestStore
    base: Table
    current: Table
    operations: list[Operation] = attrs.field(factory=list)
    steps: list[RowStep] = attrs.field(factory=list)
    applied: int = 0
    was_read: bool = False

    @property
    def key(self) -> str:
        """The table key."""
        return self.entry.table_key

    @property
    def can_move(self) -> bool:
        """Whether the operations give the same on a later version of the table."""
        return not self.was_read and all(each.fits_any_base for each in self.operations)

    @property
    def updated_files(self) -> frozenset[str]:
        """The files of rows that others wrote, and that were there before."""
        changes = [each for each in self.operations if isinstance(each, Changed)]
        return frozenset[str]().union(*(each.updated_files for each in changes))

    @property
    def is_changed(self) -> bool:
        """Whether applying changed anything."""
        return self.current is not self.base

    def move(self, entry: TableEntry, base: Table) -> None:
        """Start again from a later version."""
        if base.branch != self.base.branch:
            self.operations = [self._carry(each, base) for each in self.operations]
        self.entry, self.base, self.current, self.applied = entry, base, base, 0
        self.steps = []

    def apply(self) -> Table:
        """Apply the operations not applied yet, and return the version that has all of them."""
        while self.applied < len(self.operations):
            made_for = self.operations[self.applied]
            operation = self._rebase(made_for)
            self.operations[self.applied] = operation
            before = self.current
            self.current = commit_exactly(before, operation.stage)
            if self.current is not before:
                self._remember_ids(before, operation)
                self.steps.append(_step(made_for, operation, before, self.current))
            self.applied += 1
        return self.current

    def close(self) -> None:
        """Release temporary files."""
        for operation in self.operations:
            operation.close()

    def _carry(self, operation: Operation, base: Table) -> Operation:
        """Write rows again if another fork of the table was published than the one that has them.

        Files of one fork cannot be read from another. So they are committed where they lie, in a
        version that is never published, and read from there.
        """
        if not isinstance(operation, Append | Overwrite):
            return operation
        alone = commit_exactly(self.base, lambda on: on.stage_written(operation.written))
        new = alone.fragments().keys() - self.base.fragments().keys()
        written = (base.write(alone.scan(fragments=new)),) if new else ()
        return attrs.evolve(operation, written=written)

    def _remember_ids(self, before: Table, operation: Operation) -> None:
        if not isinstance(operation, Append) or operation.ids is None:
            return
        if not operation.ids.on_disk:
            batches = list(islice(operation.ids.batches(_LOOKED_UP_AT_ONCE), 2))
            if len(batches) == 1:
                self.lookups.remember(before, self.current, batches[0])

    def _rebase(self, operation: Operation) -> Operation:
        """Rebase an operation made for an older version; raise if it no longer means the same."""
        latest = self.entry.table_version
        if isinstance(operation, Changed):
            try:
                written = tuple(map(self.current.rebase_changes, operation.written))
                return attrs.evolve(operation, written=written)
            except _NOT_THE_SAME:
                seen = _looked_up_in(operation)
        elif isinstance(operation, DeleteWhere) and operation.found is not None:
            try:
                found = self.current.rebase(operation.found)
                if self.current.version == operation.found.base_version or (
                    self.current.count(operation.predicate) == found.rows_deleted
                ):
                    return attrs.evolve(operation, found=found)
            except _NOT_THE_SAME:
                pass
            seen = operation.found.base_version
        elif isinstance(operation, Overwrite) and operation.checked_at is not None:
            then = self._entry_at(operation.checked_at)
            if is_same_pin(then, self.entry):
                return operation
            seen = 0 if then is None else then.table_version
        else:
            return operation
        if seen != latest:
            raise ExpectedVersionMismatch(table_key=self.key, expected=seen, actual=latest)
        return operation

    def _entry_at(self, version: int) -> TableEntry | None:
        try:
            return self.catalog.at(version).state.tables.get(self.key)
        except UnknownVersion as error:
            raise SnapshotExpired(branch=self.catalog.name, version=version) from error


def _step(made_for: Operation, operation: Operation, before: Table, after: Table) -> RowStep:
    """Describe what an operation did to the rows, as far as it knows that itself."""
    match operation:
        case Append(ids=ids, ends=ends) if ids is not None:
            facts = RowFacts(new_ids=ids, new_ends=ends)
        case Overwrite(ids=ids, ends=ends) if ids is not None:
            facts = RowFacts(new_ids=ids, new_ends=ends, replaces_all=True, removes_rows=True)
        case Upsert(ends=ends):
            facts = RowFacts(new_ends=ends, merges_rows=True)
        case DeleteIds() | DeleteWhere():
            facts = RowFacts(removes_rows=True)
        case Changed(checked_at=checked_at):
            staged_on = _looked_up_in(made_for) if isinstance(made_for, Changed) else None
            return RowStep(before=before, after=after, checked_at=checked_at, staged_on=staged_on)
        case _:
            checked_at = getattr(operation, "checked_at", None)
            return RowStep(before=before, after=after, checked_at=checked_at)
    return RowStep(before=before, after=after, facts=facts)


def _looked_up_in(changes: Changed) -> int:
    """Return the version of the table in which the rows to change were looked up."""
    return max(part.version for part in changes.written)


_KEPT = declare("l2.run.reads_kept", "the branch of a run says what a transaction has read")


@attrs.frozen(kw_only=True)
class TransactionOperation:
    """What a transaction does to its tables."""

    branch: BranchSession
    root: RepositoryRoot
    intent: Intent
    tables: Mapping[str, PendingTable]
    expected: Mapping[str, int]
    reads: ReadSet
    check_ends: bool

    def lineages(self, _lost: int) -> Collection[str]:
        """Return the lineages of the tables that it writes."""
        return [
            lineage(table.entry.table_path, self.branch.native) for table in self._with_changes()
        ]

    def prepare(self, state: CatalogState) -> Prepared | None:
        """Apply all changes to the tables as a state shows them."""
        tables = self._with_changes()
        for table in tables:
            self._rebase(table, state)

        def apply(table: PendingTable) -> None:
            with translate_data_errors(table.key), translate_table_errors(table.key):
                table.apply()

        self.root.at_once(apply, tables)
        changed = [table for table in tables if table.is_changed]
        if not changed:
            return None
        return Prepared(
            changes=(),
            versions={
                table.key: NewVersion(table=table.current, steps=tuple(table.steps))
                for table in changed
            },
            # Also those in which nothing was found to change: that is what they were seen to hold.
            relies_on=frozenset(table.key for table in tables),
            run_reads=self.reads.to_record if self.reads.is_recorded else None,
            check_ends=self.check_ends,
        )

    def may_retry(self, mismatch: ExpectedVersionMismatch) -> bool:
        """Return whether the changes mean the same on the newer version of a table."""
        table = self.tables.get(mismatch.table_key)
        return table is None or not table.operations or table.can_move

    def _with_changes(self) -> list[PendingTable]:
        return [table for table in self.tables.values() if table.operations]

    def _rebase(self, table: PendingTable, state: CatalogState) -> None:
        """Move a table that others have published since, where the result is the same.

        Rows that were made for other columns are not moved: what they mean is the caller's.
        """
        seen, entry = table.entry.table_version, state.tables.get(table.key)
        if entry is not None and entry.table_version == seen:
            return
        if entry is not None and table.can_move:
            with translate_table_errors(table.key):
                base = self.branch.lineage(entry)
                if base.same_columns(table.base):
                    table.move(entry, base)
                    return
        raise ExpectedVersionMismatch(
            table_key=table.key, expected=seen, actual=state.latest(table.key)
        )


class ReadSet:
    """The tables that a transaction has read."""

    def __init__(self, branch: BranchSession) -> None:
        self._branch = branch
        self.is_recorded = branch.is_of_run
        """Whether the branch is that of a run, which has to know."""
        self._keys: set[str] = set()

    def add(self, *table_keys: str) -> None:
        """Count tables as read."""
        self._keys.update(table_keys)

    @property
    def to_record(self) -> frozenset[str]:
        """What the branch of a run has to know."""
        return frozenset(self._keys) if self.is_recorded else frozenset()

    def record(self, intent: Intent, *, timeout: float) -> None:
        """Record what is not recorded yet, of a transaction that published nothing."""
        if not self.to_record:
            return
        missing = self.to_record - self._branch.catalog.refresh().state.reads
        if missing:
            self._branch.commit(_RecordReads(intent=intent, reads=missing), timeout=timeout)
            failpoint(_KEPT)


@attrs.frozen(kw_only=True)
class _RecordReads:
    """Records on the branch of a run that tables were read."""

    intent: Intent
    reads: frozenset[str]
    expected: Mapping[str, int] = MappingProxyType({})

    def lineages(self, _lost: int) -> Collection[str]:
        return ()

    def prepare(self, state: CatalogState) -> Prepared | None:
        missing = self.reads - state.reads
        return Prepared(changes=(), run_reads=missing) if missing else None

    def may_retry(self, _mismatch: ExpectedVersionMismatch) -> bool:
        return True
