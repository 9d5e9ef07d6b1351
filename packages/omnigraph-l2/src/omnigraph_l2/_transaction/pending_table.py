"""One table inside a transaction: its base version and the pending operations.

Invariant: ``current`` is exactly the base plus the operations applied so far, and unpublished;
``steps`` are the commits in between. Operations are applied as late as possible: when the
transaction reads its own changes, or when it commits. On another base all are applied again.
"""

from __future__ import annotations

from itertools import islice

import attrs

from omnigraph_l1 import Table
from omnigraph_l1.errors import UnknownVersion
from omnigraph_l2._catalog.catalog_state import TableEntry
from omnigraph_l2._commit.base_commit import commit_exactly
from omnigraph_l2._commit.commit_operation import RowFacts, RowStep
from omnigraph_l2._rows.id_lookup import IdLookup
from omnigraph_l2._rows.pinned_reads import is_same_pin
from omnigraph_l2._store.manifest_store import ManifestStore
from omnigraph_l2._transaction.rebase import rebase_changes
from omnigraph_l2._transaction.table_operations import (
    Append,
    Changed,
    DeleteIds,
    DeleteWhere,
    Operation,
    Overwrite,
    Upsert,
)
from omnigraph_l2.errors import ExpectedVersionMismatch, SnapshotExpired

__all__ = ["PendingTable"]

_LOOKED_UP_AT_ONCE = 262_144


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
            written = rebase_changes(operation.written, self.current)
            if written is not None:
                return attrs.evolve(operation, written=written)
            seen = _looked_up_in(operation)
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
