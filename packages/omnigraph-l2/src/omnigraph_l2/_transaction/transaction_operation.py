"""A transaction as an operation of the commit loop: rebase its tables, apply its changes.

Also what a transaction on the branch of a run has read, which is recorded there for the publish of
the run.

Invariant: a table moves to a newer version only where that has the same result. Everything that the
transaction wrote, expected or read counts as read on the branch of a run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

import attrs

from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._catalog.catalog_state import CatalogState
from omnigraph_l2._catalog.publish_plan import Intent
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._commit.commit_operation import NewVersion, Prepared
from omnigraph_l2._commit.writer_queue import lineage
from omnigraph_l2._errors.translating import translate_table_errors
from omnigraph_l2._rows.data_problems import translate_data_errors
from omnigraph_l2._store.branch_registry import run_of
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2._transaction.pending_table import PendingTable
from omnigraph_l2.errors import ExpectedVersionMismatch

__all__ = ["ReadSet", "TransactionOperation"]

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
        self.is_recorded = run_of(branch.name) is not None
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
