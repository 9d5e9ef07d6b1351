"""One table inside a transaction: the version it started from, and what is done to it.

Always: ``current`` is exactly the base plus the operations applied so far, published by nobody.
Applying happens as late as possible: when the transaction reads what it did, or commits. On another
base everything is applied again.
"""

from __future__ import annotations

from itertools import islice

import attrs

from omnigraph_l1 import Table
from omnigraph_l2._catalog.state import TableEntry
from omnigraph_l2._comparing.changed import is_same_pin
from omnigraph_l2._data.ids import IdSet
from omnigraph_l2._storage.upkeep import kept_up
from omnigraph_l2._transactions.exact import commit_exactly
from omnigraph_l2._transactions.following import followed
from omnigraph_l2._transactions.lookups import Lookups
from omnigraph_l2._transactions.operations import (
    Append,
    Changed,
    DeleteIds,
    DeleteWhere,
    Operation,
    Overwrite,
)
from omnigraph_l2._transactions.others import Others
from omnigraph_l2._transactions.unique import check_unique
from omnigraph_l2._transactions.written import check_written
from omnigraph_l2.errors import DuplicateIds, ExpectedVersionMismatch

__all__ = ["WorkingTable"]

_SHOWN = 10
_LOOKED_UP_AT_ONCE = 262_144


@attrs.define(eq=False, kw_only=True)
class WorkingTable:
    """A table that a transaction changes."""

    entry: TableEntry
    lookups: Lookups
    others: Others
    base: Table
    current: Table
    operations: list[Operation] = attrs.field(factory=list)
    applied: int = 0
    was_read: bool = False
    checks_ends: bool = False
    """Whether the ends of edges that others wrote are to be collected."""
    is_finished: bool = False
    """Whether it was checked and kept up as it is."""
    written_ends: tuple[IdSet, IdSet] | None = None
    removed: IdSet | None = None
    """The ids that the operations applied so far have taken out."""

    @property
    def key(self) -> str:
        """The table key."""
        return self.entry.table_key

    @property
    def can_move(self) -> bool:
        """Whether the operations give the same on a later version of the table."""
        return not self.was_read and all(each.fits_any_base for each in self.operations)

    @property
    def checked_at(self) -> frozenset[int]:
        """The versions of the graph at which the caller has checked rows itself."""
        given = (getattr(each, "checked_at", None) for each in self.operations)
        return frozenset(each for each in given if each is not None)

    @property
    def updated_files(self) -> frozenset[str]:
        """The files of rows that others wrote, and that were there before."""
        changes = [each for each in self.operations if isinstance(each, Changed)]
        return frozenset[str]().union(*(each.updated_files for each in changes))

    @property
    def takes_away(self) -> bool:
        """Whether rows go of which the caller has checked itself that nothing points to them."""
        return any(
            isinstance(each, Overwrite)
            or (isinstance(each, Changed) and any(part.rows_deleted for part in each.written))
            for each in self.operations
            if getattr(each, "checked_at", None) is not None
        )

    @property
    def is_changed(self) -> bool:
        """Whether applying changed anything."""
        return self.current is not self.base

    def move(self, entry: TableEntry, base: Table) -> None:
        """Start again from a later version."""
        if base.branch != self.base.branch:
            self.operations = [self._carried(each, base) for each in self.operations]
        self.entry, self.base, self.current, self.applied = entry, base, base, 0
        self.is_finished = False
        self._forget()

    def apply(self) -> Table:
        """Apply what is not applied yet, and give the version that holds all of it."""
        while self.applied < len(self.operations):
            made_for = self.operations[self.applied]
            operation = self._placed(made_for)
            self.operations[self.applied] = operation
            self._check_ids(operation)
            self._note_removed(operation)
            before = self.current
            self.current = commit_exactly(before, operation.stage)
            self._learn(before, operation)
            self._check_written(operation, before, made_for)
            self.applied += 1
        return self.current

    def finish(self, unique: tuple[str, ...]) -> Table:
        """Apply everything, check what is declared unique, and do the upkeep that is due."""
        self.apply()
        if self.is_changed and not self.is_finished:
            check_unique(self.key, unique, self.base, self.current)
            self.current = kept_up(self.current, ("id", *unique))
        self.is_finished = True
        return self.current

    def close(self) -> None:
        """Let go of what is kept on disk meanwhile."""
        self._forget()
        for operation in self.operations:
            operation.close()

    def _carried(self, operation: Operation, base: Table) -> Operation:
        """Write rows again where another fork of the table was published than they lie in.

        Files of one fork cannot be read from another. So they are committed where they lie, in a
        version that nobody publishes, and read from there.
        """
        if not isinstance(operation, Append | Overwrite):
            return operation
        alone = commit_exactly(self.base, lambda on: on.stage_written(operation.written))
        new = alone.fragments().keys() - self.base.fragments().keys()
        written = (base.write(alone.scan(fragments=new)),) if new else ()
        return attrs.evolve(operation, written=written)

    def _learn(self, before: Table, operation: Operation) -> None:
        if not isinstance(operation, Append) or operation.ids is None:
            return
        if not operation.ids.on_disk:
            batches = list(islice(operation.ids.batches(_LOOKED_UP_AT_ONCE), 2))
            if len(batches) == 1:
                self.lookups.remember(before, self.current, batches[0])

    def _check_ids(self, operation: Operation) -> None:
        """Refuse an append of ids that are there, or an append or overwrite that repeats one."""
        if not isinstance(operation, Append | Overwrite) or operation.ids is None:
            return
        repeated = operation.ids.repeated(_SHOWN)
        existing: list[str] = []
        if isinstance(operation, Append) and self.current.count():
            for batch in operation.ids.batches(_LOOKED_UP_AT_ONCE):
                existing += self.lookups.present(self.current, batch).to_pylist()
                if len(existing) >= _SHOWN:
                    break
        if repeated or existing:
            raise DuplicateIds(
                table_key=self.key, existing=tuple(existing[:_SHOWN]), repeated=tuple(repeated)
            )

    def _check_written(self, operation: Operation, before: Table, made_for: Operation) -> None:
        """Do the same for rows that others wrote, which can be read only now."""
        if isinstance(operation, Append | Overwrite):
            if operation.ids is not None:
                return
        elif not isinstance(operation, Changed):
            return
        existing, repeated = check_written(
            operation,
            before,
            self.current,
            ends=self._ends_to_collect() if operation.checked_at is None else (),
            lookups=self.lookups,
            others=lambda since: self.others.changed(self.key, since, self.entry),
        )
        if existing and isinstance(made_for, Changed):
            # Where its rows were looked up, these ids were not there: somebody was quicker.
            self._refuse_later(max(part.version for part in made_for.written))
        if existing or repeated:
            raise DuplicateIds(
                table_key=self.key, existing=tuple(existing), repeated=tuple(repeated)
            )

    def _refuse_later(self, seen: int) -> None:
        if seen != self.entry.table_version:
            raise ExpectedVersionMismatch(
                table_key=self.key, expected=seen, actual=self.entry.table_version
            )

    def _placed(self, operation: Operation) -> Operation:
        """Take over what was made for an older version; refuse what means something else now."""
        fits, seen = True, self.entry.table_version
        if isinstance(operation, Changed):
            written = followed(operation.written, self.current)
            if written is not None:
                return attrs.evolve(operation, written=written)
            fits, seen = False, max(part.version for part in operation.written)
        elif isinstance(operation, Overwrite) and operation.checked_at is not None:
            then = self.others.entry(self.key, operation.checked_at)
            fits = is_same_pin(then, self.entry)
            seen = 0 if then is None else then.table_version
        if not fits:
            self._refuse_later(seen)
        return operation

    def _ends_to_collect(self) -> tuple[IdSet, ...]:
        if not self.checks_ends or not self.key.startswith("edge:"):
            return ()
        if self.written_ends is None:
            self.written_ends = (IdSet(), IdSet())
        return self.written_ends

    def _note_removed(self, operation: Operation) -> None:
        if getattr(operation, "checked_at", None) is not None:
            return
        if isinstance(operation, DeleteWhere | DeleteIds):
            for chunk in operation.doomed(self.current).column("id").chunks:
                self._removed().add(chunk)
        elif isinstance(operation, Overwrite):
            for batch in self.current.scan(columns=["id"]):
                self._removed().add(batch.column(0))
        elif isinstance(operation, Changed):
            for ids in operation.doomed(self.current):
                self._removed().add(ids)

    def _removed(self) -> IdSet:
        if self.removed is None:
            self.removed = IdSet()
        return self.removed

    def _forget(self) -> None:
        for kept in (self.removed, *(self.written_ends or ())):
            if kept is not None:
                kept.close()
        self.removed = self.written_ends = None
