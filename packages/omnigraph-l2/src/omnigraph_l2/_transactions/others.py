"""What others published after a version at which a caller has checked rows by itself.

Always: it costs what they changed. Nothing that they changed is left out; some rows that they did
not change may be among it.
"""

from __future__ import annotations

import attrs

from omnigraph_l1.errors import UnknownVersion as NoSuchVersion
from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2._catalog.state import TableEntry
from omnigraph_l2._comparing.changed import changed_ids, is_same_pin
from omnigraph_l2._comparing.doubtful import doubtful
from omnigraph_l2._comparing.reading import opened, reading
from omnigraph_l2._data.ids import IdSet
from omnigraph_l2._storage import Root
from omnigraph_l2._transactions.edges import ENDS
from omnigraph_l2.errors import SnapshotExpired

__all__ = ["Others"]


@attrs.frozen
class Others:
    """Compares what is now with what was then."""

    _root: Root
    _branch: GraphBranch

    def changed(self, table_key: str, since: int, now: TableEntry | None) -> IdSet:
        """Give the ids of rows that may be others than at a version. Whoever asks closes it."""
        return changed_ids(self._root, self.entry(table_key, since), now)

    def ends(self, table_key: str, since: int, now: TableEntry | None) -> tuple[IdSet, IdSet]:
        """Give the ends of edges that may be others than at a version."""
        found = (IdSet(), IdSet())
        then = self.entry(table_key, since)
        if now is None or is_same_pin(then, now):
            return found
        with reading(self._root, then, now):
            table = opened(self._root, now)
            if then is None:
                batches = iter(table.scan(columns=list(ENDS)))
            else:
                batches = doubtful(opened(self._root, then), table).after.batches(ENDS)
            for batch in batches:
                for column, ends in zip(ENDS, found, strict=True):
                    ends.add(batch.column(column))
        return found

    def entry(self, table_key: str, since: int) -> TableEntry | None:
        """Give what a version of the graph showed of a table."""
        try:
            return self._branch.catalog.at(since).state.tables.get(table_key)
        except NoSuchVersion as error:
            raise SnapshotExpired(branch=self._branch.name, version=since) from error
