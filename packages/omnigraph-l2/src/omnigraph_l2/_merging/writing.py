"""Putting what was decided onto the lineages of the target.

Always: each table becomes exactly its pinned version plus what was decided, and nobody sees it yet.
Rows of main stay on main's own lineage. Where the target has not touched a table and neither side
owns a fork of it, the version of the other side is handed over as it is, whatever its size.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np
import pyarrow as pa

from omnigraph_l1 import Staged, Table, table_path
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2._branches.names import is_owned_by
from omnigraph_l2._catalog.changes import Change, RegisterTable, TableTombstone, TableUpdate
from omnigraph_l2._comparing.reading import opened
from omnigraph_l2._data.ids import IdSet
from omnigraph_l2._data.spool import Spool
from omnigraph_l2._errors.translating import table_border
from omnigraph_l2._evolving.tables import begun, emptied, reshaped
from omnigraph_l2._evolving.tables import declared as redeclared
from omnigraph_l2._merging.graph_merge import GraphMerge
from omnigraph_l2._merging.rule import ABSENT
from omnigraph_l2._merging.types import Declared, Fate, Merged, declared
from omnigraph_l2._merging.values import MergedTable
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.upkeep import kept_up
from omnigraph_l2._transactions.data_border import data_border
from omnigraph_l2._transactions.exact import commit_exactly
from omnigraph_l2._transactions.unique import check_unique
from omnigraph_l2._transactions.version_facts import version_metadata

__all__ = ["Work", "Writer", "works"]

_FILLED = declare("l2.merge.filled", "a table has all rows of the other side, nobody sees them")

_DELETED_AT_ONCE = 100_000


@attrs.define(eq=False, kw_only=True)
class Work:
    """What is to be done to one table of the target."""

    key: str
    told: MergedTable
    fate: Fate | Merged
    removed: IdSet | None = None
    """The rows that go, and those that others take the place of."""
    taken: Spool | None = None
    """The rows that come."""

    def close(self) -> None:
        """Let go of what is kept on disk meanwhile."""
        for kept in (self.removed, self.taken):
            if kept is not None:
                kept.close()


def works(merge: GraphMerge, branch: GraphBranch) -> Iterator[Work]:
    """Give all that is to be done. Rows are read here; nothing is written."""
    for key, fate in sorted(merge.fates.items()):
        ours, theirs = merge.ours.tables.get(key), merge.theirs.tables.get(key)
        if fate is Fate.DROP and ours is not None:
            told = MergedTable(deleted=ours.row_count, dropped=True)
            yield Work(key=key, fate=fate, told=told)
        elif fate is Fate.TAKE and theirs is not None:
            told = MergedTable(
                inserted=theirs.row_count,
                deleted=0 if ours is None else ours.row_count,
                added=ours is None,
                redeclared=ours is not None,
            )
            yield Work(key=key, fate=fate, told=told)
        elif isinstance(fate, Merged):
            work = _of_rows(merge, key, fate, branch)
            if work is not None:
                yield work


def _of_rows(merge: GraphMerge, key: str, fate: Merged, branch: GraphBranch) -> Work | None:
    rows_merge = merge.row_merge(key)
    state = merge.ours
    redeclares = declared(state, key, opened(merge.root, state.tables[key]).schema) != fate.declared
    if _may_hand_over(merge, key, branch) and _is_taken_whole(merge, key, fate):
        told = MergedTable(inserted=None, updated=None, deleted=None, redeclared=redeclares)
        return Work(key=key, fate=Fate.TAKE, told=told)
    removed = IdSet()
    counts = np.zeros(3, np.int64)

    def taken() -> Iterator[pa.RecordBatch]:
        for rows in rows_merge.batches():
            differs = rows.chosen != rows.ours
            gone = differs & (rows.chosen == ABSENT)
            new = differs & (rows.ours == ABSENT)
            counts[:] += [new.sum(), (differs & ~new & ~gone).sum(), gone.sum()]
            if (differs & ~new).any():
                removed.add(rows.ids.filter(pa.array(differs & ~new)))
            yield from rows_merge.taken(rows).to_batches()

    spool = Spool(rows_merge.columns, taken())
    with data_border(key):
        for _ in spool:
            pass
    inserted, updated, deleted = counts.tolist()
    told = MergedTable(inserted=inserted, updated=updated, deleted=deleted, redeclared=redeclares)
    work = Work(key=key, fate=fate, told=told, removed=removed, taken=spool)
    if not (redeclares or inserted or updated or deleted):
        work.close()
        return None
    return work


def _is_taken_whole(merge: GraphMerge, key: str, fate: Merged) -> bool:
    theirs = opened(merge.root, merge.theirs.tables[key])
    same = declared(merge.theirs, key, theirs.schema) == fate.declared
    return same and merge.row_merge(key).is_as_theirs()


def _may_hand_over(merge: GraphMerge, key: str, branch: GraphBranch) -> bool:
    ours, theirs = merge.ours.tables.get(key), merge.theirs.tables.get(key)
    if branch.native is None or theirs is None or theirs.table_version <= merge.ours.latest(key):
        return False
    if ours is None:
        return theirs.table_branch is None
    return theirs.table_branch in (None, ours.table_branch) and not is_owned_by(
        ours.table_branch, branch.native
    )


@attrs.frozen(kw_only=True)
class Writer:
    """Does the work."""

    root: Root
    branch: GraphBranch
    merge: GraphMerge

    def changes(self, work: Work) -> list[Change]:
        """Write one table; give what is to be published of it."""
        key = work.key
        with data_border(key), table_border(key):
            if work.fate is Fate.DROP:
                # One above what is visible: who still expects that version is refused.
                above = self.merge.ours.tables[key].table_version + 1
                return [TableTombstone(table_key=key, table_version=above)]
            if work.fate is Fate.TAKE:
                return self._taken(key)
            wanted = self.merge.fate(key)
            return self._merged(work, wanted.declared) if isinstance(wanted, Merged) else []

    def _taken(self, key: str) -> list[Change]:
        entry = self.merge.theirs.tables[key]
        theirs = opened(self.root, entry)
        said = declared(self.merge.theirs, key, theirs.schema)
        changes = self._registered(key, said)
        if _may_hand_over(self.merge, key, self.branch) and self._is_theirs(key):
            return [*changes, _updated(key, theirs, entry.row_count)]
        ours = self.merge.ours.tables.get(key)
        columns = said.columns(key)
        above = self.merge.ours.latest(key)
        if ours is None:
            empty = begun(self.root, self.branch, key, columns, above=above)
        else:
            empty = emptied(self.branch.lineage(ours), columns, above=above)

        def filling(on: Table) -> Staged:
            return on.stage_append(_ordered(theirs.scan(columns=columns.names), on.schema))

        full = commit_exactly(empty, filling)
        failpoint(_FILLED)
        self.root.remember(entry.table_path, full)
        return [*changes, _updated(key, full, full.count())]

    def _is_theirs(self, key: str) -> bool:
        """Tell whether the target has nothing of its own in a table that is taken as a whole."""
        return key not in self.merge.ours.tables or isinstance(self.merge.fate(key), Merged)

    def _merged(self, work: Work, wanted: Declared) -> list[Change]:
        key = work.key
        entry = self.merge.ours.tables[key]
        base = self.branch.lineage(entry)
        before = declared(self.merge.ours, key, base.schema)
        table = self._reshaped(base, before, wanted)
        if work.removed is not None:
            for batch in work.removed.batches(_DELETED_AT_ONCE):
                table = _without(table, batch)
        taken = work.taken
        if taken is not None and taken.rows:
            # Lance would look at every row of the table to commit an upsert; not so for this.
            table = commit_exactly(table, lambda on: on.stage_append(_ordered(taken, on.schema)))
        self._check_unique(key, before, wanted, base, table)
        changes = self._registered(key, wanted)
        table = (
            redeclared(base)
            if table is base
            else kept_up(table, ("id", *wanted.said.get("unique", ())))
        )
        self.root.remember(entry.table_path, table)
        return [*changes, _updated(key, table, table.count())]

    def _reshaped(self, base: Table, before: Declared, after: Declared) -> Table:
        """Give the table the columns that it shall have. One of another type is another column."""
        now, then = after.properties, before.properties
        gone = [name for name in then if name not in now or now[name][0] != then[name][0]]
        new = [
            pa.field(name, type_)
            for name, (type_, _) in now.items()
            if name not in then or then[name][0] != type_
        ]
        return reshaped(base, gone, new)

    def _check_unique(
        self, key: str, before: Declared, after: Declared, base: Table, table: Table
    ) -> None:
        unique, known = (list(each.said.get("unique") or ()) for each in (after, before))
        check_unique(key, [name for name in unique if name in known], base, table)
        check_unique(key, [name for name in unique if name not in known], None, table)

    def _registered(self, key: str, wanted: Declared) -> list[Change]:
        registration = self.merge.ours.registration(key)
        if registration is not None and registration.metadata == wanted.said:
            return []
        return [
            RegisterTable(table_key=key, table_path=table_path(key), metadata=dict(wanted.said))
        ]


def _without(table: Table, ids: pa.Array) -> Table:
    listed = ids.to_pylist()
    return commit_exactly(table, lambda on: on.stage_delete_keys("id", listed))


def _ordered(batches: Spool | pa.RecordBatchReader, schema: pa.Schema) -> pa.RecordBatchReader:
    """Put the columns into the order of a table."""
    names = schema.names
    plain = (
        pa.RecordBatch.from_arrays([batch.column(name) for name in names], schema=schema)
        for batch in batches
    )
    return pa.RecordBatchReader.from_batches(schema, plain)


def _updated(key: str, table: Table, rows: int) -> TableUpdate:
    return TableUpdate(
        table_key=key,
        table_version=table.version,
        table_branch=table.branch,
        row_count=rows,
        metadata=version_metadata(table),
    )
