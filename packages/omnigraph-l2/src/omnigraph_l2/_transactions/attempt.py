"""Trying to commit a transaction: move with others, apply, check, and say what to publish.

Always: what is given to be published names every table that was written, expected or looked at for
a check, with the version at which it was seen. Each attempt looks anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs

from omnigraph_l1 import Table
from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2._catalog.changes import Change, TableUpdate
from omnigraph_l2._catalog.declarations import unique_properties
from omnigraph_l2._catalog.planning import check_expectations
from omnigraph_l2._catalog.state import CatalogState
from omnigraph_l2._data.ids import IdSet
from omnigraph_l2._errors.translating import table_border
from omnigraph_l2._publishing.turns import lineage
from omnigraph_l2._storage import Root
from omnigraph_l2._transactions.data_border import data_border
from omnigraph_l2._transactions.edges import (
    ENDS,
    check_ends,
    check_removed,
    edge_tables_at,
    node_tables_of,
)
from omnigraph_l2._transactions.lookups import Lookups
from omnigraph_l2._transactions.others import Others
from omnigraph_l2._transactions.reads import Reads
from omnigraph_l2._transactions.version_facts import version_metadata
from omnigraph_l2._transactions.working import WorkingTable
from omnigraph_l2.errors import ExpectedVersionMismatch

__all__ = ["Attempt", "Prepared"]


@attrs.frozen(kw_only=True)
class Prepared:
    """What a transaction has committed to its tables, for the catalog to show."""

    changes: tuple[Change, ...]
    expected: Mapping[str, int]


@attrs.frozen
class Attempt:
    """What a transaction holds, on its way into the catalog."""

    _branch: GraphBranch
    _root: Root = attrs.field(kw_only=True)
    _working: Mapping[str, WorkingTable] = attrs.field(kw_only=True)
    _expected: Mapping[str, int] = attrs.field(kw_only=True)
    _check_edges: bool = attrs.field(kw_only=True)
    _lookups: Lookups = attrs.field(kw_only=True)
    _reads: Reads = attrs.field(kw_only=True)
    _others: Others = attrs.field(kw_only=True)

    @property
    def lineages(self) -> list[str]:
        """Name what it writes to, to take a turn on."""
        return [
            lineage(working.entry.table_path, self._branch.native)
            for working in self._working.values()
            if working.operations
        ]

    def follow(self, state: CatalogState) -> None:
        """Move tables that others published meanwhile, where that changes nothing.

        Rows that were made for other columns are not moved: what they mean is the caller's.
        """
        check_expectations(state, self._expected, visible=True)
        for working in self._working.values():
            if not working.operations:
                continue
            seen = working.entry.table_version
            entry = state.tables.get(working.key)
            if entry is not None and entry.table_version == seen:
                continue
            if entry is None or not working.can_move:
                raise ExpectedVersionMismatch(
                    table_key=working.key, expected=seen, actual=state.latest(working.key)
                )
            with table_border(working.key):
                base = self._branch.lineage(entry)
                if not base.same_columns(working.base):
                    raise ExpectedVersionMismatch(
                        table_key=working.key, expected=seen, actual=entry.table_version
                    )
                working.move(entry, base)

    def may_run_again(self, mismatch: ExpectedVersionMismatch) -> bool:
        """Tell whether a race that was lost can be run again with the same result."""
        key = mismatch.table_key
        if key in self._expected:
            return False
        working = self._working.get(key)
        return working is None or not working.operations or working.can_move

    def prepared(self, state: CatalogState) -> Prepared | None:
        """Apply all changes and check them; give what is to be published."""
        busy = [working for working in self._working.values() if working.operations]

        def finished(working: WorkingTable) -> None:
            with data_border(working.key), table_border(working.key):
                working.finish(unique_properties(state, working.key))

        self._root.at_once(finished, busy)
        changed = [working for working in busy if working.is_changed]
        if not changed:
            check_expectations(state, self._expected, visible=True)
            return None
        # Also those that nothing was found to change in: that is what they were seen to hold.
        expected = {working.key: working.entry.table_version for working in busy}
        looked_at = self._checked_edges(state, changed) if self._check_edges else {}
        changes: list[Change] = [
            TableUpdate(
                table_key=working.key,
                table_version=working.current.version,
                table_branch=working.current.branch,
                row_count=working.current.count(),
                metadata=version_metadata(working.current),
            )
            for working in changed
        ]
        for working in changed:
            self._root.remember(working.entry.table_path, working.current)
        return Prepared(
            changes=tuple(changes), expected={**looked_at, **self._expected, **expected}
        )

    def _checked_edges(
        self, state: CatalogState, changed: Sequence[WorkingTable]
    ) -> Mapping[str, int]:
        """Check that no edge dangles; give the versions of the tables that were looked at."""
        looked_at: dict[str, int] = {}

        def seen(table_key: str) -> Table:
            looked_at[table_key] = state.latest(table_key)
            self._reads.add(table_key)
            working = self._working.get(table_key)
            if working is not None and working.is_changed:
                return working.current
            entry = state.tables[table_key]
            return self._root.open(
                entry.table_path, branch=entry.table_branch, version=entry.table_version
            )

        for working in changed:
            key = working.key
            if key.startswith("edge:"):
                for ends in self._new_ends(working):
                    for column, found in zip(ENDS, ends, strict=True):
                        nodes = {
                            name: seen(name)
                            for name in node_tables_of(state, key, column)
                            if name in state.tables
                        }
                        check_ends(
                            key,
                            column,
                            found,
                            nodes,
                            edges=working.current,
                            lookups=self._lookups,
                        )
            elif working.removed is not None:
                pointing = [
                    (edge, column, node_tables_of(state, edge, column))
                    for edge, column in edge_tables_at(state, key)
                ]
                check_removed(working.removed, key, seen, pointing, seen, lookups=self._lookups)
            for since in working.checked_at:
                self._check_others(state, working, since, seen)
        return looked_at

    def _check_others(
        self, state: CatalogState, working: WorkingTable, since: int, seen: Callable[[str], Table]
    ) -> None:
        """Check what the caller has checked itself beside what others published since."""
        if working.key.startswith("edge:"):
            self._check_nodes_of_others(state, working.key, since, seen)
        elif working.takes_away:
            self._check_edges_of_others(state, working.key, since, seen)

    def _check_nodes_of_others(
        self, state: CatalogState, key: str, since: int, seen: Callable[[str], Table]
    ) -> None:
        """Check that others took no node away to which edges point that the caller has checked."""
        pointing = [(key, column, node_tables_of(state, key, column)) for column in ENDS]
        named = {name for *_, names in pointing for name in names}
        for name in sorted(named.intersection(state.tables)):
            seen(name)
            with self._others.changed(name, since, state.tables[name]) as removed:
                at = [each for each in pointing if name in each[2]]
                if len(removed):
                    check_removed(removed, name, seen, at, seen, lookups=self._lookups)

    def _check_edges_of_others(
        self, state: CatalogState, node_key: str, since: int, seen: Callable[[str], Table]
    ) -> None:
        """Check that others made no edge to nodes of which the caller checked that they may go."""
        for edge, column in edge_tables_at(state, node_key):
            edges = seen(edge)
            nodes = {name: seen(name) for name in node_tables_of(state, edge, column)}
            ends = self._others.ends(edge, since, state.tables[edge])
            with ends[0], ends[1]:
                at = ends[ENDS.index(column)]
                check_ends(edge, column, at, nodes, edges=edges, lookups=self._lookups)

    def _new_ends(self, working: WorkingTable) -> Iterable[tuple[IdSet, IdSet]]:
        for operation in working.operations:
            ends = getattr(operation, "ends", None)
            if ends is not None:
                yield ends
        if working.written_ends is not None:
            yield working.written_ends
