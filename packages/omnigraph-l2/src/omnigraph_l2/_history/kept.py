"""The commits of branches that are gone: ``_graph_commits_kept.lance``.

Always: what a branch of ours has made is here before its native branch is removed, so that a merge
knows where its sides come from, whatever was deleted since. A commit may stand here twice; it is
read once. Whether its data is still there is not told here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l1.errors import DatasetNotFound
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._catalog.state import CatalogState
from omnigraph_l2._history.log import GraphLog
from omnigraph_l2._history.schemas import COMMITS_SCHEMA
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.adding import add_rows
from omnigraph_l2._storage.layout import COMMITS, COMMITS_KEPT

__all__ = ["KeptCommits"]

_KEPT = declare("l2.branch.history_kept", "the commits of a branch are where they outlive it")

_ID: Final = "graph_commit_id"
_INDEXED: Final = (_ID, "manifest_branch")
_PAGE: Final = 256


@attrs.frozen
class KeptCommits:
    """The commits that outlived their branch."""

    _root: Root

    def keep(self, state: CatalogState) -> None:
        """Write down what a branch has made; what was inherited is kept where it was made."""
        if state.branch is None:
            return
        GraphLog(self._root).complete(state)
        log = self._root.open(COMMITS, branch=state.branch)
        for batch in log.scan(COMMITS_SCHEMA.names, filter=_made_on(state.branch)):
            rows = pa.Table.from_batches([batch]).cast(COMMITS_SCHEMA)
            known = self._found(rows[_ID].to_pylist())[_ID]
            new = rows.filter(pc.invert(pc.is_in(rows[_ID], value_set=known.combine_chunks())))
            add_rows(self._root, COMMITS_KEPT, new, indexed=_INDEXED)
        failpoint(_KEPT)

    def find(self, commit_id: str) -> GraphCommit | None:
        """Find a commit by its id."""
        rows = self._found([commit_id]).to_pylist()
        return GraphLog(self._root).whole(rows)[0] if rows else None

    def before(self, commit: GraphCommit) -> Iterator[GraphCommit]:
        """Walk what its branch made before a commit, if that is gone, back to where it started."""
        if commit.manifest_branch is None:
            return
        try:
            table = self._root.open(COMMITS_KEPT)
        except DatasetNotFound:
            return
        made = f"{_made_on(commit.manifest_branch)} AND manifest_version <= "
        rows = table.read(columns=COMMITS_SCHEMA.names, filter=f"{made}{commit.manifest_version}")
        rows = rows.sort_by([("manifest_version", "descending"), ("created_at", "descending")])
        for start in range(0, rows.num_rows, _PAGE):
            yield from GraphLog(self._root).whole(rows.slice(start, _PAGE).to_pylist())

    def _found(self, commit_ids: Sequence[str]) -> pa.Table:
        try:
            table = self._root.open(COMMITS_KEPT)
        except DatasetNotFound:
            return COMMITS_SCHEMA.empty_table()  # nothing was deleted yet
        return table.find(_ID, commit_ids)


def _made_on(native: str) -> str:
    return f"manifest_branch = '{native}'"
