"""The commits of deleted branches: ``_graph_commits_kept.lance``.

Invariant: the commits of a branch are written here before its native branch is removed, so that a
merge finds the history of both sides whatever was deleted. A commit may be stored twice; it is
returned once. Whether the data of a commit still exists is not recorded here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l1.errors import DatasetNotFound
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._catalog.catalog_state import CatalogState
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._model.repository_layout import COMMITS, COMMITS_KEPT
from omnigraph_l2._store.commit_log import CommitLog
from omnigraph_l2._store.log_append import add_rows
from omnigraph_l2._store.log_rows import COMMITS_SCHEMA
from omnigraph_l2._store.repository_root import RepositoryRoot

__all__ = ["ArchivedCommits"]

_KEPT = declare("l2.branch.history_kept", "the commits of a branch are where they outlive it")

_ID: Final = "graph_commit_id"
_INDEXED: Final = (_ID, "manifest_branch")
_PAGE: Final = 256


@attrs.frozen
class ArchivedCommits:
    """The commits of branches that were deleted."""

    _root: RepositoryRoot

    def keep(self, state: CatalogState) -> None:
        """Archive the commits that a branch made itself, without those that it inherited."""
        if state.branch is None:
            return
        CommitLog(self._root).complete(state)
        log = self._root.open(COMMITS, branch=state.branch)
        for batch in log.scan(COMMITS_SCHEMA.names, filter=_made_on(state.branch)):
            rows = pa.Table.from_batches([batch]).cast(COMMITS_SCHEMA)
            known = self._find(rows[_ID].to_pylist())[_ID]
            new = rows.filter(pc.invert(pc.is_in(rows[_ID], value_set=known.combine_chunks())))
            add_rows(self._root, COMMITS_KEPT, new, indexed=_INDEXED)
        failpoint(_KEPT)

    def find(self, commit_id: str) -> GraphCommit | None:
        """Find a commit by its id."""
        rows = self._find([commit_id]).to_pylist()
        return CommitLog(self._root).join_rows(rows)[0] if rows else None

    def before(self, commit: GraphCommit) -> Iterator[GraphCommit]:
        """Walk the commits of a deleted branch from a commit back to where the branch started."""
        if commit.manifest_branch is not None:
            yield from self.made_on(commit.manifest_branch, through=commit.manifest_version)

    def made_on(self, native: str, *, through: int | None = None) -> Iterator[GraphCommit]:
        """Walk the commits that a deleted branch made itself, newest first."""
        try:
            table = self._root.open(COMMITS_KEPT)
        except DatasetNotFound:
            return
        until = "" if through is None else f" AND manifest_version <= {through}"
        rows = table.read(columns=COMMITS_SCHEMA.names, filter=f"{_made_on(native)}{until}")
        rows = rows.sort_by([("manifest_version", "descending"), ("created_at", "descending")])
        for start in range(0, rows.num_rows, _PAGE):
            yield from CommitLog(self._root).join_rows(rows.slice(start, _PAGE).to_pylist())

    def _find(self, commit_ids: Sequence[str]) -> pa.Table:
        try:
            table = self._root.open(COMMITS_KEPT)
        except DatasetNotFound:
            return COMMITS_SCHEMA.empty_table()  # nothing was deleted yet
        return table.find(_ID, commit_ids)


def _made_on(native: str) -> str:
    return f"manifest_branch = '{native}'"
