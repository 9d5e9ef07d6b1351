"""Write the decisions of a merge onto the lineages of the target.

Invariant: each table becomes exactly its pinned version plus the decisions, and stays unpublished.
Rows of main stay on the lineage of main. If the target has not changed a table and neither side
owns a fork of it, the version of the other side is published as it is, whatever its size.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np
import pyarrow as pa

from omnigraph_l1 import Staged, Table, table_path
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._catalog.publish_plan import Change, RegisterTable, TableTombstone
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._commit.commit_operation import NewVersion, RowFacts, RowStep
from omnigraph_l2._commit.integrity import ENDS
from omnigraph_l2._commit.schema_writes import create_fork_table, empty_table, reshape_table
from omnigraph_l2._commit.schema_writes import redeclare_table as redeclared
from omnigraph_l2._errors.translating import translate_table_errors
from omnigraph_l2._merge.graph_merge import GraphMerge
from omnigraph_l2._merge.merge_result import MergedTable
from omnigraph_l2._merge.schema_merge import Declared, Merged, TableOutcome, declaration_of
from omnigraph_l2._merge.three_way import ABSENT
from omnigraph_l2._rows.data_problems import translate_data_errors
from omnigraph_l2._rows.id_set import IdSet
from omnigraph_l2._rows.pinned_reads import open_pinned
from omnigraph_l2._rows.spill_file import Spool
from omnigraph_l2._store.branch_registry import is_owned_by
from omnigraph_l2._store.exact_commit import commit_exactly
from omnigraph_l2._store.repository_root import RepositoryRoot

__all__ = ["Work", "Writer", "Written", "works"]

_FILLED = declare("l2.merge.filled", "a table has all rows of the other side, unpublished")

_DELETED_AT_ONCE = 100_000


@attrs.define(eq=False, kw_only=True)
class Work:
    """The change of one table of the target."""

    key: str
    summary: MergedTable
    outcome: TableOutcome | Merged
    removed: IdSet | None = None
    """The rows that go, and those that others take the place of."""
    taken: Spool | None = None
    """The rows that come."""
    facts: RowFacts | None = None
    """The ids and ends of the rows that come."""

    @property
    def changes_no_row(self) -> bool:
        """Whether only the declaration changes."""
        return not (self.removed or (self.taken is not None and self.taken.rows))

    def close(self) -> None:
        """Release temporary files."""
        ids = None if self.facts is None else self.facts.new_ids
        ends = () if self.facts is None else self.facts.new_ends or ()
        for kept in (self.removed, self.taken, ids, *ends):
            if kept is not None:
                kept.close()


def works(merge: GraphMerge, branch: BranchSession) -> Iterator[Work]:
    """Return the change of each table. Rows are read here; nothing is written."""
    for key, outcome in sorted(merge.outcomes.items()):
        ours, theirs = merge.ours.tables.get(key), merge.theirs.tables.get(key)
        if outcome is TableOutcome.DROP and ours is not None:
            summary = MergedTable(deleted=ours.row_count, dropped=True)
            yield Work(key=key, outcome=outcome, summary=summary)
        elif outcome is TableOutcome.TAKE and theirs is not None:
            summary = MergedTable(
                inserted=theirs.row_count,
                deleted=0 if ours is None else ours.row_count,
                added=ours is None,
                redeclared=ours is not None,
            )
            yield Work(key=key, outcome=outcome, summary=summary)
        elif isinstance(outcome, Merged):
            work = _of_rows(merge, key, outcome, branch)
            if work is not None:
                yield work


def _of_rows(merge: GraphMerge, key: str, outcome: Merged, branch: BranchSession) -> Work | None:
    rows_merge = merge.row_merge(key)
    state = merge.ours
    redeclares = (
        declaration_of(state, key, open_pinned(merge.root, state.tables[key]).schema)
        != outcome.declared
    )
    if _may_hand_over(merge, key, branch) and _is_taken_whole(merge, key, outcome):
        summary = MergedTable(inserted=None, updated=None, deleted=None, redeclared=redeclares)
        return Work(key=key, outcome=TableOutcome.TAKE, summary=summary)
    removed, ids = IdSet(), IdSet()
    ends = (IdSet(), IdSet()) if key.startswith("edge:") else None
    counts = np.zeros(3, np.int64)

    def taken() -> Iterator[pa.RecordBatch]:
        for rows in rows_merge.batches():
            differs = rows.chosen != rows.ours
            gone = differs & (rows.chosen == ABSENT)
            new = differs & (rows.ours == ABSENT)
            counts[:] += [new.sum(), (differs & ~new & ~gone).sum(), gone.sum()]
            if (differs & ~new).any():
                removed.add(rows.ids.filter(pa.array(differs & ~new)))
            for batch in rows_merge.take_rows(rows).to_batches():
                ids.add(batch.column("id"))
                for column, found in zip(ENDS, ends or (), strict=False):
                    found.add(batch.column(column))
                yield batch

    spool = Spool(rows_merge.columns, taken())
    with translate_data_errors(key):
        for _ in spool:
            pass
    inserted, updated, deleted = counts.tolist()
    summary = MergedTable(
        inserted=inserted, updated=updated, deleted=deleted, redeclared=redeclares
    )
    work = Work(
        key=key,
        outcome=outcome,
        summary=summary,
        removed=removed,
        taken=spool,
        facts=RowFacts(new_ids=ids, new_ends=ends),
    )
    if not (redeclares or inserted or updated or deleted):
        work.close()
        return None
    return work


def _is_taken_whole(merge: GraphMerge, key: str, outcome: Merged) -> bool:
    theirs = open_pinned(merge.root, merge.theirs.tables[key])
    same = declaration_of(merge.theirs, key, theirs.schema) == outcome.declared
    return same and merge.row_merge(key).is_as_theirs()


def _may_hand_over(merge: GraphMerge, key: str, branch: BranchSession) -> bool:
    ours, theirs = merge.ours.tables.get(key), merge.theirs.tables.get(key)
    if branch.native is None or theirs is None or theirs.table_version <= merge.ours.floor(key):
        return False
    if ours is None:
        return theirs.table_branch is None
    return theirs.table_branch in (None, ours.table_branch) and not is_owned_by(
        ours.table_branch, branch.native
    )


@attrs.frozen(kw_only=True)
class Written:
    """What a merge publishes of one table."""

    changes: tuple[Change, ...] = ()
    """Its declaration, or its end."""
    version: NewVersion | None = None


@attrs.frozen(kw_only=True)
class Writer:
    """Writes the tables of a merge."""

    root: RepositoryRoot
    branch: BranchSession
    merge: GraphMerge

    def write(self, work: Work) -> Written:
        """Write one table; return what to publish of it."""
        key = work.key
        with translate_data_errors(key), translate_table_errors(key):
            if work.outcome is TableOutcome.DROP:
                # One above what is visible: who still expects that version is refused.
                above = self.merge.ours.tables[key].table_version + 1
                return Written(changes=(TableTombstone(table_key=key, table_version=above),))
            if work.outcome is TableOutcome.TAKE:
                return self._take(key)
            wanted = self.merge.outcome_of(key)
            if isinstance(wanted, Merged):
                return self._write_merged(work, wanted.declared)
            return Written()

    def _take(self, key: str) -> Written:
        entry = self.merge.theirs.tables[key]
        theirs = open_pinned(self.root, entry)
        said = declaration_of(self.merge.theirs, key, theirs.schema)
        changes, columns = self._register(key, said), said.columns(key)
        if _may_hand_over(self.merge, key, self.branch) and self._is_theirs(key):
            taken = NewVersion(table=theirs, columns=columns, is_handed_over=True)
            return Written(changes=changes, version=taken)
        ours = self.merge.ours.tables.get(key)
        above = self.merge.ours.floor(key)
        if ours is None:
            empty = create_fork_table(self.root, self.branch, key, columns, above=above)
        else:
            empty = empty_table(self.branch.lineage(ours), columns, above=above)

        def filling(on: Table) -> Staged:
            return on.stage_append(_reorder(theirs.scan(columns=columns.names), on.schema))

        full = commit_exactly(empty, filling)
        failpoint(_FILLED)
        return Written(changes=changes, version=NewVersion(table=full, columns=columns))

    def _is_theirs(self, key: str) -> bool:
        """Return whether a table that is taken as a whole has no own changes in the target."""
        return key not in self.merge.ours.tables or isinstance(self.merge.outcome_of(key), Merged)

    def _write_merged(self, work: Work, wanted: Declared) -> Written:
        key = work.key
        entry = self.merge.ours.tables[key]
        base = self.branch.lineage(entry)
        before = declaration_of(self.merge.ours, key, base.schema)
        table = self._reshape(base, before, wanted)
        table = redeclared(base) if table is base and work.changes_no_row else table
        steps = [RowStep(before=base, after=table, facts=RowFacts())]
        if work.removed is not None:
            for batch in work.removed.batches(_DELETED_AT_ONCE):
                shorter = _without(table, batch)
                facts = RowFacts(removes_rows=True)
                steps.append(RowStep(before=table, after=shorter, facts=facts))
                table = shorter
        taken = work.taken
        if taken is not None and taken.rows:
            # Lance would look at every row of the table to commit an upsert; not so for this.
            full = commit_exactly(table, lambda on: on.stage_append(_reorder(taken, on.schema)))
            steps.append(RowStep(before=table, after=full, facts=work.facts))
            table = full
        version = NewVersion(table=table, steps=tuple(steps), columns=wanted.columns(key))
        return Written(changes=self._register(key, wanted), version=version)

    def _reshape(self, base: Table, before: Declared, after: Declared) -> Table:
        """Return the table with the merged columns; a changed type makes another column."""
        now, then = after.properties, before.properties
        gone = [name for name in then if name not in now or now[name][0] != then[name][0]]
        new = [
            pa.field(name, type_)
            for name, (type_, _) in now.items()
            if name not in then or then[name][0] != type_
        ]
        return reshape_table(base, gone, new)

    def _register(self, key: str, wanted: Declared) -> tuple[Change, ...]:
        registration = self.merge.ours.registration(key)
        if registration is not None and registration.metadata == wanted.said:
            return ()
        return (
            RegisterTable(table_key=key, table_path=table_path(key), metadata=dict(wanted.said)),
        )


def _without(table: Table, ids: pa.Array) -> Table:
    listed = ids.to_pylist()
    return commit_exactly(table, lambda on: on.stage_delete_keys("id", listed))


def _reorder(batches: Spool | pa.RecordBatchReader, schema: pa.Schema) -> pa.RecordBatchReader:
    """Reorder columns to those of a table."""
    names = schema.names
    plain = (
        pa.RecordBatch.from_arrays([batch.column(name) for name in names], schema=schema)
        for batch in batches
    )
    return pa.RecordBatchReader.from_batches(schema, plain)
