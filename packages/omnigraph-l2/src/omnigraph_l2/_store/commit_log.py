"""The commit log ``_graph_commits.lance`` with actors and notes, completed from the catalog.

Reading goes forward from a version of the catalog, or back from the newest commit. Rows come nearly
in the order of the commits. Memory does not grow with the log.

Invariant: a commit is in the catalog first, and here soon after. If a writer dies, the next one
completes the log. Two writers that complete it at once may write a commit twice; it is returned
once. The log of a branch continues that of the branch it started from.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from itertools import islice
from typing import Any

import attrs
import pyarrow as pa

from omnigraph_l1 import Table
from omnigraph_l1.errors import DatasetNotFound
from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_l2._catalog.catalog_state import CatalogState
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._model.repository_layout import COMMIT_ACTORS, COMMIT_NOTES, COMMITS
from omnigraph_l2._store.log_append import add_rows
from omnigraph_l2._store.log_rows import actor_rows, commit_rows, commits_from, note_rows
from omnigraph_l2._store.repository_root import RepositoryRoot

__all__ = ["CommitLog", "Logged", "logged_since"]

_ACTORS = declare("l2.log.actors", "the actors are in the log, the commits are not yet")
_NOTES = declare("l2.log.notes", "the notes are in the log, the commits are not yet")
_COMMITS = declare("l2.log.commits", "the commits are in the log")

_PAGE = 256
_INDEXED = ("graph_commit_id", "operation_digest")


@attrs.frozen
class CommitLog:
    """The log of a repository."""

    _root: RepositoryRoot

    def complete(self, state: CatalogState) -> int:
        """Write the commits of a catalog's state that the log lacks; return their number."""
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

    def logged_ids(self, state: CatalogState) -> frozenset[str]:
        """Return the ids of the commits of a catalog's state that are in the log."""
        table = self._open(COMMITS, state.branch)
        return frozenset(islice(_ids_newest_first(table), len(state.publishes) + 2 * _PAGE))

    def head(self, branch: str | None, *, until: int | None = None) -> GraphCommit | None:
        """Return the newest commit of a branch in the log, up to a version of the catalog."""
        for row in _in_order(_rows_newest_first(self._open(COMMITS, branch))):
            if until is None or row["manifest_version"] <= until:
                return self.join_rows([row])[0]
        return None

    def find(self, commit_id: str, branch: str | None) -> GraphCommit | None:
        """Find a commit by its id, on one branch."""
        rows = self._open(COMMITS, branch).find("graph_commit_id", [commit_id]).to_pylist()
        return self.join_rows(rows)[0] if rows else None

    def operations(self, digest: str) -> list[str]:
        """Return the commits of an operation: at most one on each branch."""
        rows = self._find(COMMIT_NOTES, "operation_digest", [digest])
        return [row["graph_commit_id"] for row in rows]

    def newest_first(self, branch: str | None) -> Iterator[GraphCommit]:
        """Walk the log of a branch back to its beginning. What is not consumed is not read."""
        rows = _in_order(_rows_newest_first(self._open(COMMITS, branch)))
        seen: set[str] = set()
        while page := list(islice(rows, _PAGE)):
            for commit in self.join_rows(page):
                if commit.graph_commit_id not in seen:
                    seen.add(commit.graph_commit_id)
                    yield commit

    def add_actors(self, commits: Sequence[GraphCommit]) -> None:
        """Write the actors of commits that are already in the log."""
        self._add(COMMIT_ACTORS, None, actor_rows(commits))

    def add_notes(self, commits: Sequence[GraphCommit]) -> None:
        """Write the notes of commits that are already in the log."""
        self._add(COMMIT_NOTES, None, note_rows(commits))

    def write_genesis(self, commit: GraphCommit) -> None:
        """Write the first commit of the repository."""
        self._add(COMMIT_ACTORS, None, actor_rows([commit]))
        self._add(COMMITS, None, commit_rows([commit]))

    def fork(
        self, branch: str, parent: str | None, *, through: int, without: Sequence[str] = ()
    ) -> None:
        """Start the log of a new branch: that of its parent, up to a version of the catalog.

        ``without`` names commits of exactly that version that are left out.
        """
        table = self._open(COMMITS, parent).fork(branch, fresh=True)
        later = f"manifest_version > {through}"
        if without:
            named = ", ".join(f"'{each}'" for each in without)
            later += f" OR graph_commit_id IN ({named})"
        self._root.remember(COMMITS, table.delete(later).table)

    def find_all(self, commit_ids: Sequence[str], branch: str | None) -> list[GraphCommit]:
        """Return those of some commits that are in the log of a branch."""
        rows = self._open(COMMITS, branch).find("graph_commit_id", list(commit_ids)).to_pylist()
        return self.join_rows(rows) if rows else []

    def join_rows(self, rows: Sequence[dict[str, Any]]) -> list[GraphCommit]:
        """Read commits from rows of the log, each with its actor and its note."""
        ids = [row["graph_commit_id"] for row in rows]
        actors = self._find(COMMIT_ACTORS, "graph_commit_id", ids)
        notes = self._find(COMMIT_NOTES, "graph_commit_id", ids)
        return commits_from(rows, actors, notes)

    def _find(self, path: str, column: str, values: Sequence[str]) -> list[dict[str, Any]]:
        try:
            table = self._open(path, None)
        except DatasetNotFound:
            return []  # another publisher made none
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
    """Restore the order of commits that two writers wrote at once."""
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
    """Read page by page from the end, because rows are only appended."""
    end = table.count()
    while end > 0:
        start = max(0, end - _PAGE)
        page = table.read(columns=columns, offset=start, limit=end - start)
        yield from reversed(page.to_pylist())
        end = start


@attrs.frozen(order=True)
class Logged:
    """A commit in the log, and its place in the sequence of its branch."""

    manifest_version: int
    created_at: datetime
    commit_id: str


def logged_since(root: RepositoryRoot, native: str | None, version: int) -> Iterator[Logged]:
    """Return the commits of a branch that were logged at or after a version of the catalog."""
    scanned = root.open(COMMITS, branch=native).scan(
        columns=["graph_commit_id", "manifest_version", "created_at"],
        filter=f"manifest_version >= {version}",
    )
    for batch in scanned:
        for row in batch.to_pylist():
            moment = row["created_at"].replace(tzinfo=timezone.utc)
            yield Logged(row["manifest_version"], moment, row["graph_commit_id"])
