"""The merge decisions for a whole graph: tables, rows, and the strategy for conflicts.

Invariant: only tables that the other side changed since the base are opened. Everything is decided
before anything is written. A conflict is reported, or resolved by the strategy and listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l2._catalog.catalog_state import CatalogState, TableEntry, endpoints_of
from omnigraph_l2._errors.merging import MergeConflict, MergeConflictKind
from omnigraph_l2._merge.merge_result import UNRESOLVED, MergeStrategy
from omnigraph_l2._merge.row_merge import Choice, RowMerge, Side
from omnigraph_l2._merge.schema_merge import (
    CLASHING,
    Clash,
    Declared,
    Merged,
    TableOutcome,
    decide_outcome,
    declaration_of,
)
from omnigraph_l2._merge.three_way import ABSENT, Base, leaves, resolve_base_value
from omnigraph_l2._rows.data_problems import translate_data_errors
from omnigraph_l2._rows.id_set import IdSet
from omnigraph_l2._rows.incoming_rows import incoming
from omnigraph_l2._rows.pinned_reads import IdLookup, changed_ids, open_pinned, rows_at
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import DataProblem, InvalidData, SnapshotExpired

__all__ = ["GraphMerge"]

_AT_ONCE = 65_536


@attrs.define(eq=False, kw_only=True)
class GraphMerge:
    """The decisions of one merge."""

    root: RepositoryRoot
    base: Base
    state_of: Callable[[str], CatalogState]
    """Return the state that a commit has made."""
    ours: CatalogState
    theirs: CatalogState
    strategy: MergeStrategy
    outcomes: dict[str, TableOutcome | Merged] = attrs.field(factory=dict)
    """What was decided about a type; one that is not named stays as it is."""
    rows: dict[str, RowMerge] = attrs.field(factory=dict)
    conflicts: list[MergeConflict] = attrs.field(factory=list)
    resolved: list[MergeConflict] = attrs.field(factory=list)
    clashing: set[str] = attrs.field(factory=set)
    """The types with an unresolved conflict: what becomes of their rows is not decided."""
    kept_whole: set[str] = attrs.field(factory=set)
    """The types that the strategy kept as the target has them, whatever the other side did."""

    @property
    def favour(self) -> Side | None:
        """The side that the strategy prefers; None if the strategy is "error" or a function."""
        return self.strategy if self.strategy in {"ours", "theirs"} else None

    def decide(self) -> None:
        """Decide each type, and each row of a type that both sides have."""
        for key in self.touched_keys():
            self._decide_type(key)
        self._keep_ends_together()
        for key in list(self.rows):
            if isinstance(self.outcome_of(key), Merged):
                for conflict in list(self.rows[key].conflicts()):
                    self._resolve(conflict)

    def touched_keys(self) -> list[str]:
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

    def outcome_of(self, key: str) -> TableOutcome | Merged:
        """Return the outcome of a table."""
        return self.outcomes.get(key, TableOutcome.KEEP)

    def has(self, key: str) -> bool:
        """Return whether the merged graph has a table."""
        decided = self.outcome_of(key)
        return (
            key in self.ours.tables
            if decided is TableOutcome.KEEP
            else decided is not TableOutcome.DROP
        )

    def metadata_of(self, key: str) -> Mapping[str, Any]:
        """Return what the ``table`` row of the merged graph says."""
        decided = self.outcome_of(key)
        if isinstance(decided, Merged):
            return decided.declared.said
        state = self.theirs if decided is TableOutcome.TAKE else self.ours
        registration = state.registration(key)
        return {} if registration is None else registration.metadata

    def table_keys(self) -> list[str]:
        """Name the tables of the merged graph."""
        return sorted(key for key in {*self.ours.tables, *self.theirs.tables} if self.has(key))

    def row_merge(self, key: str) -> RowMerge:
        """Return the merge of the rows of a table; where none was needed so far, begin it."""
        known = self.rows.get(key)
        if known is None:
            shape = self._declaration(self.ours, key) or self._declaration(self.theirs, key)
            known = self.rows[key] = self._begin(key, shape or Declared({}, {}))
        return known

    def existing_ids(self, node_key: str, ids: pa.Array, lookups: IdLookup) -> pa.Array:
        """Return those ids that the merged table of a node type has."""
        decided = self.outcome_of(node_key)
        ours, theirs = self.ours.tables.get(node_key), self.theirs.tables.get(node_key)
        if not isinstance(decided, Merged):
            entry = {TableOutcome.KEEP: ours, TableOutcome.TAKE: theirs, TableOutcome.DROP: None}[
                decided
            ]
            return (
                ids.slice(0, 0)
                if entry is None
                else lookups.present(open_pinned(self.root, entry), ids)
            )
        merge = self.row_merge(node_key)
        sure = ids.filter(pc.invert(pc.is_in(ids, value_set=pa.array(merge.choices, pa.string()))))
        for entry in (ours, theirs):
            sure = (
                sure.slice(0, 0)
                if entry is None
                else lookups.present(open_pinned(self.root, entry), sure)
            )
        # What both sides have stays, whatever it is then.
        left = [_plain(sure)]
        with IdSet() as uncertain:
            uncertain.add(ids.filter(pc.invert(pc.is_in(ids, value_set=sure))))
            for part in merge.portions(uncertain):
                rows = merge.at(part)
                left.append(rows.ids.filter(pa.array(rows.chosen != ABSENT)))
        return pa.concat_arrays(left)

    def removed_ids(self, node_key: str) -> Iterator[pa.Array]:
        """Return the ids that the merge takes from a node table of the target."""
        decided = self.outcome_of(node_key)
        ours = self.ours.tables.get(node_key)
        if decided is TableOutcome.KEEP or ours is None:
            return
        if isinstance(decided, Merged):
            yield from self.row_merge(node_key).removed_ids()
            return
        theirs = self.theirs.tables.get(node_key) if decided is TableOutcome.TAKE else None
        with changed_ids(self.root, ours, theirs) as found:
            for ids in found.batches(_AT_ONCE):
                for entry, is_there in ((ours, True), (theirs, False)):
                    known = rows_at(self.root, entry, ids, ["id"]).column("id")
                    ids = _those(ids, known, is_there=is_there)  # noqa: PLW2901
                if len(ids):
                    yield ids

    # Deciding.

    def take_side(self, key: str, side: Side) -> bool:
        """Take a type from one side; return whether that changes the decision."""
        if side == "ours":
            self.kept_whole.add(key)
            new: TableOutcome = TableOutcome.KEEP
        elif key in self.theirs.tables:
            new = TableOutcome.KEEP if _is_same(self.ours, self.theirs, key) else TableOutcome.TAKE
        else:
            new = TableOutcome.DROP if key in self.ours.tables else TableOutcome.KEEP
        before = self.outcome_of(key)
        self.outcomes[key] = new
        return before is not new

    def take_row(self, key: str, row_id: str, side: Side) -> bool:
        """Take a row from one side; return whether that changes the decision."""
        decided = self.outcome_of(key)
        if isinstance(decided, TableOutcome) and side == (
            "ours" if decided is TableOutcome.KEEP else "theirs"
        ):
            return False
        merge = self._row_by_row(key)
        return (
            self.take_side(key, side) if merge is None else merge.choose(row_id, Choice(side=side))
        )

    def resolve_with_strategy(self, conflict: MergeConflict) -> bool:
        """Resolve a row with the strategy function; return whether it had an answer."""
        key, row_id = conflict.table_key, conflict.row_id
        if not callable(self.strategy) or row_id is None or key in self.clashing:
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
        """Return the merge of the rows of a table that stays, or of both; None for any other."""
        decided, shape = self.outcome_of(key), self._declaration(self.ours, key)
        if decided is TableOutcome.KEEP and shape is not None:
            self.outcomes[key] = Merged(shape)
        return self.row_merge(key) if isinstance(self.outcome_of(key), Merged) else None

    def close(self) -> None:
        """Release temporary files."""
        for merge in self.rows.values():
            merge.close()

    def _resolve(self, conflict: MergeConflict) -> None:
        decided = self.favour is not None or self.resolve_with_strategy(conflict)
        (self.resolved if decided else self.conflicts).append(conflict)

    def _decide_type(self, key: str) -> None:
        ours, theirs = self._declaration(self.ours, key), self._declaration(self.theirs, key)

        def value(commit_id: str) -> Any:
            return self._declaration(self.state_of(commit_id), key)

        def below(commit_id: str) -> Any:
            try:
                return value(commit_id)
            except SnapshotExpired:
                return CLASHING

        base = resolve_base_value(self.base, value, CLASHING, below)
        decided = decide_outcome(
            base,
            ours,
            theirs,
            ours_changed=lambda: self._begin(key, ours).differs(self.ours.tables.get(key)),
            theirs_changed=lambda: self._begin(key, theirs).differs(self.theirs.tables.get(key)),
        )
        if isinstance(decided, Clash):
            conflict = MergeConflict(
                table_key=key, row_id=None, kind=decided.kind, detail=decided.detail
            )
            if self.favour is None:
                self.clashing.add(key)
                self.conflicts.append(conflict)
            else:
                self.resolved.append(conflict)
                self.take_side(key, self.favour)
            return
        self.outcomes[key] = decided
        if isinstance(decided, Merged):
            self.rows[key] = self._begin(key, decided.declared)

    def _keep_ends_together(self) -> None:
        """Check that each edge type has its node types; resolve or report each conflict."""
        reported: set[str] = set()
        while True:
            moved = False
            for edge_key, node_key in list(self._edges_without_endpoints()):
                if self.outcome_of(edge_key) is self.outcome_of(node_key) is TableOutcome.KEEP:
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
                        moved |= self.take_side(key, self.favour)
            if not moved:
                return

    def _edges_without_endpoints(self) -> Iterator[tuple[str, str]]:
        for key in self.table_keys():
            if key.startswith("edge:"):
                for name in dict.fromkeys(endpoints_of(self.metadata_of(key)).values()):
                    if not self.has(f"node:{name}"):
                        yield key, f"node:{name}"

    def _declaration(self, state: CatalogState, key: str) -> Declared | None:
        entry = state.tables.get(key)
        return (
            None
            if entry is None
            else declaration_of(state, key, open_pinned(self.root, entry).schema)
        )

    def _begin(self, key: str, shape: Declared | None) -> RowMerge:
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
    """Validate the row that a strategy returned."""
    data = [answer] if isinstance(answer, Mapping) else answer
    with translate_data_errors(key):
        rows = pa.Table.from_batches(list(incoming(data, columns, what=key)), columns)
    if rows.num_rows != 1 or rows.column("id")[0].as_py() != row_id:
        problem = f"the strategy gives the one row with the id {row_id!r}, or None to delete it"
        raise InvalidData(table_key=key, problems=(DataProblem("id", problem),))
    return rows
