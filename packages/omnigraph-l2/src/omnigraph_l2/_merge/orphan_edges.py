"""Edges without a node in the merged graph: one side removed the node, the other points to it.

Invariant: a merge leaves no edge that it brings, and no edge of the target, without its nodes. Only
changed edges are checked, because the others were complete on both sides, unless a strategy
resolved them, kept their whole type, or removed a node that both sides have. A strategy that
favours a side takes edge and node from that side until no edge dangles. An edge that dangled before
stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l1 import Table
from omnigraph_l2._catalog.catalog_state import endpoints_of
from omnigraph_l2._commit.integrity import ENDS
from omnigraph_l2._errors.merging import MergeConflict, MergeConflictKind
from omnigraph_l2._merge.graph_merge import GraphMerge
from omnigraph_l2._merge.schema_merge import Merged, TableOutcome
from omnigraph_l2._merge.three_way import ABSENT
from omnigraph_l2._rows.change_candidates import rows_with
from omnigraph_l2._rows.pinned_reads import IdLookup, open_pinned

__all__ = ["Orphans"]

_COLUMNS = ("id", *ENDS)


@attrs.frozen
class _Orphan:
    edge_key: str
    row_id: str
    column: str
    node_id: str
    node_keys: tuple[str, ...]


@attrs.frozen
class Orphans:
    """Looks for edges without nodes, and resolves them."""

    _merge: GraphMerge
    _lookups: IdLookup

    def resolve(self) -> None:
        """Report each orphan, or let the strategy decide."""
        merge = self._merge
        reported: set[tuple[str, str]] = set()
        asked: set[tuple[str, str]] = set()
        while True:
            moved = False
            settled: set[tuple[str, str]] = set()
            for orphan in list(self._all()):
                named = (orphan.edge_key, orphan.row_id)
                if merge.favour is not None:
                    new = merge.take_row(orphan.edge_key, orphan.row_id, merge.favour)
                    for key in orphan.node_keys:
                        new |= merge.take_row(key, orphan.node_id, merge.favour)
                    if new and named not in reported:
                        reported.add(named)
                        merge.resolved.append(self._conflict(orphan))
                    moved |= new
                elif named not in reported | settled:
                    conflict = self._conflict(orphan)
                    if named not in asked and merge.resolve_with_strategy(conflict):
                        asked.add(named)
                        settled.add(named)
                        merge.resolved.append(conflict)
                        moved = True
                    else:
                        reported.add(named)
                        merge.conflicts.append(conflict)
            if not moved:
                return

    def node_tables(self, edge_key: str, column: str) -> tuple[str, ...]:
        """Name the node tables of the merged graph in which an end may be."""
        named = endpoints_of(self._merge.metadata_of(edge_key)).get(column)
        if named is not None:
            return (f"node:{named}",)
        return tuple(key for key in self._merge.table_keys() if key.startswith("node:"))

    def relied_on(self) -> frozenset[str]:
        """Name the tables that must not change: nodes of new edges, edges of removed nodes."""
        found: set[str] = set()
        for key in self._merge.table_keys():
            if not key.startswith("edge:"):
                continue
            nodes = {name for column in ENDS for name in self.node_tables(key, column)}
            if self._merge.outcome_of(key) is not TableOutcome.KEEP:
                found |= nodes
            if any(self._merge.outcome_of(name) is not TableOutcome.KEEP for name in nodes):
                found.add(key)
        return frozenset(found)

    def _all(self) -> Iterator[_Orphan]:
        for key in self._merge.table_keys():
            # What becomes of the edges of a type that is a conflict itself is not decided.
            if key.startswith("edge:") and key not in self._merge.clashing:
                yield from self._of_table(key)

    def _of_table(self, key: str) -> Iterator[_Orphan]:
        ends = [(column, self.node_tables(key, column)) for column in ENDS]
        nodes = {name for _, names in ends for name in names}
        if not all(self._is_as_theirs(name) for name in nodes) or self._has_given(key):
            for edges in self._incoming_edges(key):
                yield from self._without_node(key, edges, ends)
        if any(any(True for _ in self._merge.removed_ids(name)) for name in nodes):
            for edges in self._own(key):
                yield from self._without_node(key, edges, ends)

    def _is_as_theirs(self, node_key: str) -> bool:
        """Return whether the merged table has exactly the nodes of the source."""
        merge = self._merge
        if merge.ours.tables.get(node_key) == merge.theirs.tables.get(node_key):
            return node_key not in merge.rows or not merge.rows[node_key].choices
        decided = merge.outcome_of(node_key)
        if isinstance(decided, Merged):
            return merge.row_merge(node_key).is_as_theirs()
        return decided is TableOutcome.TAKE

    def _has_given(self, edge_key: str) -> bool:
        known = self._merge.rows.get(edge_key)
        return known is not None and any(each.given for each in known.choices.values())

    def _incoming_edges(self, key: str) -> Iterator[pa.Table]:
        """Return the edges that the target gets."""
        decided = self._merge.outcome_of(key)
        if isinstance(decided, Merged):
            merge = self._merge.row_merge(key)
            for rows in merge.batches():
                yield merge.take_rows(rows).select(_COLUMNS)
        elif decided is TableOutcome.TAKE:
            entry = self._merge.theirs.tables[key]
            for batch in open_pinned(self._merge.root, entry).scan(columns=_COLUMNS):
                yield pa.Table.from_batches([batch])

    def _own(self, key: str) -> Iterator[pa.Table]:
        """Return the edges of the target that stay, and that may have lost a node."""
        ours, decided = self._merge.ours.tables.get(key), self._merge.outcome_of(key)
        if ours is None or not (decided is TableOutcome.KEEP or isinstance(decided, Merged)):
            return
        if decided is TableOutcome.KEEP and key in self._merge.kept_whole:
            # The other side may have none of these edges, so that it could remove any node.
            for batch in open_pinned(self._merge.root, ours).scan(columns=_COLUMNS):
                yield pa.Table.from_batches([batch])
            return
        merge = self._merge.row_merge(key)
        with merge.changed_ids(ours) as found:
            found.add(pa.array(merge.choices, pa.string()))
            for ids in self._at_removed(key, open_pinned(self._merge.root, ours)):
                found.add(ids)
            for ids in merge.portions(found):
                rows = merge.at(ids)
                stays = (rows.chosen == rows.ours) | (decided is TableOutcome.KEEP)
                stay = np.where(stays, rows.ours, ABSENT)
                yield rows.look.rows(stay).select(_COLUMNS)

    def _at_removed(self, key: str, edges: Table) -> Iterator[pa.Array]:
        """Return the ids of edges that end at nodes which the strategy function has removed."""
        for column in ENDS:
            merges = [self._merge.rows.get(name) for name in self.node_tables(key, column)]
            gone = [
                node_id
                for merge in merges
                if merge is not None
                for node_id, choice in merge.choices.items()
                if choice.is_removal
            ]
            if gone:
                found = rows_with(edges, pa.array(gone, pa.string()), column)
                yield from (batch.column(0) for batch in found.batches(["id"]))

    def _without_node(
        self, key: str, edges: pa.Table, ends: list[tuple[str, tuple[str, ...]]]
    ) -> Iterator[_Orphan]:
        for column, node_keys in ends:
            if not edges.num_rows:
                return
            absent = edges.column(column).combine_chunks().unique()
            for name in node_keys:
                if len(absent) and self._merge.has(name):
                    there = self._merge.existing_ids(name, absent, self._lookups)
                    absent = absent.filter(pc.invert(pc.is_in(absent, value_set=there)))
            if len(absent):
                found = edges.filter(pc.is_in(edges.column(column), value_set=absent))
                for row in found.to_pylist():
                    yield _Orphan(key, row["id"], column, row[column], node_keys)

    def _conflict(self, orphan: _Orphan) -> MergeConflict:
        merge = self._merge.row_merge(orphan.edge_key)
        rows = merge.at(pa.array([orphan.row_id], pa.string()))
        detail = f"its {orphan.column} is {orphan.node_id!r}"
        return merge.conflict(rows, 0, MergeConflictKind.ORPHAN_EDGE, detail)
