"""Deciding about a whole graph: what becomes of each type, of each row, and who has a say in it.

Always: only tables that the other side changed since the base are opened. Everything is decided
before anything is written. A conflict is reported, or decided by the strategy and listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l2._catalog.state import CatalogState, TableEntry
from omnigraph_l2._comparing import changed_ids, rows_at
from omnigraph_l2._comparing.reading import opened
from omnigraph_l2._data.ids import IdSet
from omnigraph_l2._data.incoming import incoming
from omnigraph_l2._errors.merging import MergeConflict, MergeConflictKind
from omnigraph_l2._merging.row_merge import Choice, RowMerge, Side
from omnigraph_l2._merging.rule import ABSENT, Base, leaves, valued_one
from omnigraph_l2._merging.types import CLASHING, Clash, Declared, Fate, Merged, declared, fate
from omnigraph_l2._merging.values import UNRESOLVED, MergeStrategy
from omnigraph_l2._storage import Root
from omnigraph_l2._transactions.data_border import data_border
from omnigraph_l2._transactions.lookups import Lookups
from omnigraph_l2.errors import DataProblem, InvalidData, SnapshotExpired

__all__ = ["GraphMerge"]

_AT_ONCE = 65_536


@attrs.define(eq=False, kw_only=True)
class GraphMerge:
    """One merge, on its way to a decision."""

    root: Root
    base: Base
    state_of: Callable[[str], CatalogState]
    """Give the state that a commit has made."""
    ours: CatalogState
    theirs: CatalogState
    strategy: MergeStrategy
    fates: dict[str, Fate | Merged] = attrs.field(factory=dict)
    """What was decided about a type; one that is not named stays as it is."""
    rows: dict[str, RowMerge] = attrs.field(factory=dict)
    conflicts: list[MergeConflict] = attrs.field(factory=list)
    resolved: list[MergeConflict] = attrs.field(factory=list)
    _clashing: set[str] = attrs.field(factory=set)
    """The types about which nobody decides, so that nothing more is asked about their rows."""

    @property
    def favour(self) -> Side | None:
        """The side that the strategy lets win, if it is one that does so by itself."""
        return self.strategy if self.strategy in {"ours", "theirs"} else None

    def decide(self) -> None:
        """Decide about types, and about the rows of those that both sides have."""
        for key in self.touched():
            self._decide_type(key)
        self._keep_ends_together()
        for key in list(self.rows):
            if isinstance(self.fate(key), Merged):
                for conflict in list(self.rows[key].conflicts()):
                    self._resolve(conflict)

    def touched(self) -> list[str]:
        """Name the tables that the other side may have changed."""
        bases = [self.state_of(each) for each in leaves(self.base)] or [self.ours]
        keys = sorted({key for state in (*bases, self.theirs) for key in state.tables})
        return [
            key
            for key in keys
            if not all(_is_same(each, self.theirs, key) for each in bases)
            and not _is_same(self.ours, self.theirs, key)
        ]

    # What is decided so far.

    def fate(self, key: str) -> Fate | Merged:
        """Tell what becomes of a table."""
        return self.fates.get(key, Fate.KEEP)

    def has(self, key: str) -> bool:
        """Tell whether the merged graph has a table."""
        decided = self.fate(key)
        return key in self.ours.tables if decided is Fate.KEEP else decided is not Fate.DROP

    def said(self, key: str) -> Mapping[str, Any]:
        """Give what the ``table`` row of the merged graph says."""
        decided = self.fate(key)
        if isinstance(decided, Merged):
            return decided.declared.said
        state = self.theirs if decided is Fate.TAKE else self.ours
        registration = state.registration(key)
        return {} if registration is None else registration.metadata

    def table_keys(self) -> list[str]:
        """Name the tables of the merged graph."""
        return sorted(key for key in {*self.ours.tables, *self.theirs.tables} if self.has(key))

    def row_merge(self, key: str) -> RowMerge:
        """Give the merge of the rows of a table; where none was needed so far, begin it."""
        known = self.rows.get(key)
        if known is None:
            shape = self._declared(self.ours, key) or self._declared(self.theirs, key)
            known = self.rows[key] = self._begun(key, shape or Declared({}, {}))
        return known

    def there(self, node_key: str, ids: pa.Array, lookups: Lookups) -> pa.Array:
        """Give those ids that the merged table of a node type has."""
        decided = self.fate(node_key)
        ours, theirs = self.ours.tables.get(node_key), self.theirs.tables.get(node_key)
        if not isinstance(decided, Merged):
            entry = {Fate.KEEP: ours, Fate.TAKE: theirs, Fate.DROP: None}[decided]
            return (
                ids.slice(0, 0) if entry is None else lookups.present(opened(self.root, entry), ids)
            )
        merge = self.row_merge(node_key)
        sure = ids.filter(pc.invert(pc.is_in(ids, value_set=pa.array(merge.choices, pa.string()))))
        for entry in (ours, theirs):
            sure = (
                sure.slice(0, 0)
                if entry is None
                else lookups.present(opened(self.root, entry), sure)
            )
        # What both sides have stays, whatever it is then.
        left = [_plain(sure)]
        with IdSet() as doubtful:
            doubtful.add(ids.filter(pc.invert(pc.is_in(ids, value_set=sure))))
            for part in merge.portions(doubtful):
                rows = merge.at(part)
                left.append(rows.ids.filter(pa.array(rows.chosen != ABSENT)))
        return pa.concat_arrays(left)

    def lost(self, node_key: str) -> Iterator[pa.Array]:
        """Give the ids that the merge takes from a node table of the target."""
        decided = self.fate(node_key)
        ours = self.ours.tables.get(node_key)
        if decided is Fate.KEEP or ours is None:
            return
        if isinstance(decided, Merged):
            yield from self.row_merge(node_key).removed()
            return
        theirs = self.theirs.tables.get(node_key) if decided is Fate.TAKE else None
        with changed_ids(self.root, ours, theirs) as found:
            for ids in found.batches(_AT_ONCE):
                for entry, is_there in ((ours, True), (theirs, False)):
                    known = rows_at(self.root, entry, ids, ["id"]).column("id")
                    ids = _those(ids, known, is_there=is_there)  # noqa: PLW2901
                if len(ids):
                    yield ids

    # Deciding.

    def give(self, key: str, side: Side) -> bool:
        """Let a type be what it is on one side; tell whether that is anything new."""
        if side == "ours":
            new: Fate = Fate.KEEP
        elif key in self.theirs.tables:
            new = Fate.KEEP if _is_same(self.ours, self.theirs, key) else Fate.TAKE
        else:
            new = Fate.DROP if key in self.ours.tables else Fate.KEEP
        before = self.fate(key)
        self.fates[key] = new
        return before is not new

    def give_row(self, key: str, row_id: str, side: Side) -> bool:
        """Let a row be what it is on one side; tell whether that is anything new."""
        decided = self.fate(key)
        if isinstance(decided, Fate) and side == ("ours" if decided is Fate.KEEP else "theirs"):
            return False
        merge = self._row_by_row(key)
        return self.give(key, side) if merge is None else merge.choose(row_id, Choice(side=side))

    def ask(self, conflict: MergeConflict) -> bool:
        """Ask the function that is the strategy about a row; tell whether it knew."""
        key, row_id = conflict.table_key, conflict.row_id
        if not callable(self.strategy) or row_id is None or key in self._clashing:
            return False
        merge = self._row_by_row(key)
        answer = UNRESOLVED if merge is None else self.strategy(conflict)
        if merge is None or answer is UNRESOLVED:
            return False
        if answer is None:
            return merge.choose(row_id, Choice())
        for side, row in (("ours", conflict.ours), ("theirs", conflict.theirs)):
            if answer is row:  # exactly that one: Python has not all values that there are
                return merge.choose(row_id, Choice(side=side))
        given = _one_row(key, row_id, answer, merge.columns)
        return merge.choose(row_id, Choice(given=given))

    def _row_by_row(self, key: str) -> RowMerge | None:
        """Give the merge of the rows of a table that stays, or of both; None for any other."""
        decided, shape = self.fate(key), self._declared(self.ours, key)
        if decided is Fate.KEEP and shape is not None:
            self.fates[key] = Merged(shape)
        return self.row_merge(key) if isinstance(self.fate(key), Merged) else None

    def close(self) -> None:
        """Let go of what is kept on disk meanwhile."""
        for merge in self.rows.values():
            merge.close()

    def _resolve(self, conflict: MergeConflict) -> None:
        decided = self.favour is not None or self.ask(conflict)
        (self.resolved if decided else self.conflicts).append(conflict)

    def _decide_type(self, key: str) -> None:
        ours, theirs = self._declared(self.ours, key), self._declared(self.theirs, key)

        def value(commit_id: str) -> Any:
            return self._declared(self.state_of(commit_id), key)

        def below(commit_id: str) -> Any:
            try:
                return value(commit_id)
            except SnapshotExpired:
                return CLASHING

        base = valued_one(self.base, value, CLASHING, below)
        decided = fate(
            base,
            ours,
            theirs,
            ours_changed=lambda: self._begun(key, ours).differs(self.ours.tables.get(key)),
            theirs_changed=lambda: self._begun(key, theirs).differs(self.theirs.tables.get(key)),
        )
        if isinstance(decided, Clash):
            conflict = MergeConflict(
                table_key=key, row_id=None, kind=decided.kind, detail=decided.detail
            )
            if self.favour is None:
                self._clashing.add(key)
                self.conflicts.append(conflict)
            else:
                self.resolved.append(conflict)
                self.give(key, self.favour)
            return
        self.fates[key] = decided
        if isinstance(decided, Merged):
            self.rows[key] = self._begun(key, decided.declared)

    def _keep_ends_together(self) -> None:
        """See to it that each edge type finds its node types, or report what is in the way."""
        reported: set[str] = set()
        while True:
            moved = False
            for edge_key, node_key in list(self._widowed()):
                if self.fate(edge_key) is self.fate(node_key) is Fate.KEEP:
                    continue  # it was so before
                if node_key not in reported:
                    reported.add(node_key)
                    conflict = MergeConflict(
                        table_key=node_key,
                        row_id=None,
                        kind=MergeConflictKind.DROP_VS_CHANGE,
                        detail=f"{edge_key} ends there",
                    )
                    (self.conflicts if self.favour is None else self.resolved).append(conflict)
                if self.favour is not None:
                    for key in (node_key, edge_key):
                        moved |= self.give(key, self.favour)
            if not moved:
                return

    def _widowed(self) -> Iterator[tuple[str, str]]:
        for key in self.table_keys():
            if key.startswith("edge:"):
                for name in dict.fromkeys(dict(self.said(key).get("endpoints") or {}).values()):
                    if isinstance(name, str) and not self.has(f"node:{name}"):
                        yield key, f"node:{name}"

    def _declared(self, state: CatalogState, key: str) -> Declared | None:
        entry = state.tables.get(key)
        return None if entry is None else declared(state, key, opened(self.root, entry).schema)

    def _begun(self, key: str, shape: Declared | None) -> RowMerge:
        def entry_of(commit_id: str) -> TableEntry | None:
            return self.state_of(commit_id).tables.get(key)

        return RowMerge(
            root=self.root,
            table_key=key,
            columns=(shape or Declared({}, {})).columns(key),
            base=self.base,
            entry_of=entry_of,
            ours=self.ours.tables.get(key),
            theirs=self.theirs.tables.get(key),
            favour=self.favour,
        )


def _is_same(one: CatalogState, other: CatalogState, key: str) -> bool:
    mine, others = one.tables.get(key), other.tables.get(key)
    if mine != others:
        return False
    known, elsewhere = one.registration(key), other.registration(key)
    said = {} if known is None else known.metadata
    return mine is None or said == ({} if elsewhere is None else elsewhere.metadata)


def _plain(ids: pa.Array | pa.ChunkedArray) -> pa.Array:
    return ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids


def _those(ids: pa.Array, known: pa.ChunkedArray, *, is_there: bool) -> pa.Array:
    found = pc.is_in(ids, value_set=known.combine_chunks())
    return ids.filter(found if is_there else pc.invert(found))


def _one_row(key: str, row_id: str, answer: Any, columns: pa.Schema) -> pa.Table:
    """Take the row that a strategy gave."""
    data = [answer] if isinstance(answer, Mapping) else answer
    with data_border(key):
        rows = pa.Table.from_batches(list(incoming(data, columns, what=key)), columns)
    if rows.num_rows != 1 or rows.column("id")[0].as_py() != row_id:
        problem = f"the strategy gives the one row with the id {row_id!r}, or None to delete it"
        raise InvalidData(table_key=key, problems=(DataProblem("id", problem),))
    return rows
