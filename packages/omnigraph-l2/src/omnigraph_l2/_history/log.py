"""The log: ``_graph_commits.lance``, its actors and its notes, completed from the catalog.

Always: a commit is in the catalog first, and here soon after. A writer that died leaves the log
short, the next one completes it. Two that complete it at once may write a commit twice; it is read
once. On a branch the log goes on from where the branch started.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from datetime import timezone
from itertools import islice
from typing import Any

import attrs
import pyarrow as pa

from omnigraph_l1 import Table
from omnigraph_l1.errors import DatasetNotFound
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._catalog.state import CatalogState
from omnigraph_l2._history.records import actor_rows, commit_rows, commits_from, note_rows
from omnigraph_l2._storage import Root
from omnigraph_l2._storage.adding import add_rows
from omnigraph_l2._storage.layout import COMMIT_ACTORS, COMMIT_NOTES, COMMITS

__all__ = ["GraphLog"]

_ACTORS = declare("l2.log.actors", "the actors are in the log, the commits are not yet")
_NOTES = declare("l2.log.notes", "the notes are in the log, the commits are not yet")
_COMMITS = declare("l2.log.commits", "the commits are in the log")

_PAGE = 256
_INDEXED = ("graph_commit_id", "operation_digest")


@attrs.frozen
class GraphLog:
    """The log of a repository."""

    _root: Root

    def complete(self, state: CatalogState) -> int:
        """Write down the commits of a catalog's state that the log lacks; give how many."""
        if not state.publishes:
            return 0
        table = self._open(COMMITS, state.branch)
        known = set(islice(_ids_newest_first(table), len(state.publishes) + _PAGE))
        missing = [
            made.commit for made in state.publishes if made.commit.graph_commit_id not in known
        ]
        if not missing:
            return 0
        self._add(COMMIT_ACTORS, None, actor_rows(missing))
        failpoint(_ACTORS)
        self._add(COMMIT_NOTES, None, note_rows(missing))
        failpoint(_NOTES)
        self._add(COMMITS, state.branch, commit_rows(missing))
        failpoint(_COMMITS)
        return len(missing)

    def logged(self, state: CatalogState) -> frozenset[str]:
        """Tell which commits of a catalog's state are in the log."""
        table = self._open(COMMITS, state.branch)
        return frozenset(islice(_ids_newest_first(table), len(state.publishes) + 2 * _PAGE))

    def head(self, branch: str | None, *, until: int | None = None) -> GraphCommit | None:
        """Give the newest commit on a branch, up to a version of the catalog, as the log has it."""
        for row in _in_order(_rows_newest_first(self._open(COMMITS, branch))):
            if until is None or row["manifest_version"] <= until:
                return self.whole([row])[0]
        return None

    def find(self, commit_id: str, branch: str | None) -> GraphCommit | None:
        """Find a commit by its id, on one branch."""
        rows = self._open(COMMITS, branch).find("graph_commit_id", [commit_id]).to_pylist()
        return self.whole(rows)[0] if rows else None

    def operations(self, digest: str) -> list[str]:
        """Tell which commits an operation made: at most one on each branch."""
        rows = self._found(COMMIT_NOTES, "operation_digest", [digest])
        return [row["graph_commit_id"] for row in rows]

    def newest_first(self, branch: str | None) -> Iterator[GraphCommit]:
        """Walk the log of a branch back to the beginning, reading as little as is asked for."""
        rows = _in_order(_rows_newest_first(self._open(COMMITS, branch)))
        seen: set[str] = set()
        while page := list(islice(rows, _PAGE)):
            for commit in self.whole(page):
                if commit.graph_commit_id not in seen:
                    seen.add(commit.graph_commit_id)
                    yield commit

    def add_actors(self, commits: Sequence[GraphCommit]) -> None:
        """Write down who made commits of which the log has the rest."""
        self._add(COMMIT_ACTORS, None, actor_rows(commits))

    def add_notes(self, commits: Sequence[GraphCommit]) -> None:
        """Write down the notes of commits of which the log has the rest."""
        self._add(COMMIT_NOTES, None, note_rows(commits))

    def write_genesis(self, commit: GraphCommit) -> None:
        """Write the first commit of all."""
        self._add(COMMIT_ACTORS, None, actor_rows([commit]))
        self._add(COMMITS, None, commit_rows([commit]))

    def fork(
        self, branch: str, parent: str | None, *, through: int, without: Sequence[str] = ()
    ) -> None:
        """Start the log of a new branch: that of its parent, up to a version of the catalog.

        ``without`` names commits of that very version that do not count either.
        """
        table = self._open(COMMITS, parent).fork(branch, fresh=True)
        later = f"manifest_version > {through}"
        if without:
            named = ", ".join(f"'{each}'" for each in without)
            later += f" OR graph_commit_id IN ({named})"
        self._root.remember(COMMITS, table.delete(later).table)

    def find_all(self, commit_ids: Sequence[str], branch: str | None) -> list[GraphCommit]:
        """Find those of some commits that are in the log of a branch."""
        rows = self._open(COMMITS, branch).find("graph_commit_id", list(commit_ids)).to_pylist()
        return self.whole(rows) if rows else []

    def whole(self, rows: Sequence[dict[str, Any]]) -> list[GraphCommit]:
        """Read commits from rows of the log, each with its actor and its note."""
        ids = [row["graph_commit_id"] for row in rows]
        actors = self._found(COMMIT_ACTORS, "graph_commit_id", ids)
        notes = self._found(COMMIT_NOTES, "graph_commit_id", ids)
        return commits_from(rows, actors, notes)

    def _found(self, path: str, column: str, values: Sequence[str]) -> list[dict[str, Any]]:
        try:
            table = self._open(path, None)
        except DatasetNotFound:
            return []  # the original program made none
        found: list[dict[str, Any]] = table.find(column, values).to_pylist()
        return found

    def _open(self, path: str, branch: str | None) -> Table:
        return self._root.open(path, branch=branch)

    def _add(self, path: str, branch: str | None, rows: pa.Table) -> None:
        add_rows(self._root, path, rows, indexed=_INDEXED, branch=branch)


def _ids_newest_first(table: Table) -> Iterator[str]:
    for row in _rows_newest_first(table, ("graph_commit_id",)):
        yield row["graph_commit_id"]


def _in_order(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Put right what two that completed the log at once wrote in turns."""
    ahead: list[tuple[int, float, int, dict[str, Any]]] = []
    for number, row in enumerate(rows):
        when = row["created_at"].replace(tzinfo=timezone.utc).timestamp()
        heapq.heappush(ahead, (-row["manifest_version"], -when, number, row))
        if len(ahead) >= _PAGE:
            yield heapq.heappop(ahead)[-1]
    while ahead:
        yield heapq.heappop(ahead)[-1]


def _rows_newest_first(
    table: Table, columns: Sequence[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Read page by page from the end: rows are only ever added there."""
    end = table.count()
    while end > 0:
        start = max(0, end - _PAGE)
        page = table.read(columns=columns, offset=start, limit=end - start)
        yield from reversed(page.to_pylist())
        end = start
