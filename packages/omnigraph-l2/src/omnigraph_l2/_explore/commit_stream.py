"""The commits of all branches in one order, newest first, read lazily.

Invariant: each commit comes once. At most about twice the needed part of a branch's log is read.
Commits of a deleted branch are looked up one by one, up to a limit.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import count
from typing import Final

from omnigraph_l2 import GraphCommit, Repository
from omnigraph_l2.errors import OmniGraphError

__all__ = ["CommitStream"]

_FIRST: Final = 64
_LOOKED_UP_AT_MOST: Final = 2_000


class CommitStream:
    """Merges the logs of branches and the merged commits of deleted branches."""

    def __init__(
        self,
        repo: Repository,
        heads: Mapping[str, str],
        natives: Collection[str | None],
        tagged: Iterable[str],
    ) -> None:
        self._repo = repo
        self._heads = heads
        self._natives = natives
        """The native branches whose commits are in the logs of these heads."""
        self._tagged = tuple(tagged)
        self._left = _LOOKED_UP_AT_MOST
        self._seen: set[str] = set()
        self._order = count()
        self._ahead: list[tuple[float, int, GraphCommit, Iterator[GraphCommit]]] = []
        self.problems: list[str] = []
        """What could not be read, and why."""

    def newest_first(self) -> Iterator[GraphCommit]:
        """Yield all commits, children before their parents."""
        for branch, head in self._heads.items():
            self._follow(self._log(branch, head))
        for commit_id in self._tagged:
            self._follow(self._walk(commit_id))
        while self._ahead:
            _, _, commit, stream = heapq.heappop(self._ahead)
            if commit.graph_commit_id in self._seen:
                continue  # another stream continues from it
            self._seen.add(commit.graph_commit_id)
            yield commit
            self._follow(stream)
            if commit.merged_parent_commit_id is not None:
                self._follow(self._walk(commit.merged_parent_commit_id))

    def native_of(self, commit_id: str, otherwise: str | None) -> str | None:
        """Return the native branch of a commit; ``otherwise`` if it is unknown."""
        try:
            return self._repo.commit(commit_id).manifest_branch
        except OmniGraphError:
            return otherwise

    def _follow(self, stream: Iterator[GraphCommit]) -> None:
        try:
            commit = next(stream, None)
        except OmniGraphError as error:
            self.problems.append(f"Cannot read some commits ({error.kind}): {error}")
            return
        if commit is not None:
            age = -commit.created_at.timestamp()
            heapq.heappush(self._ahead, (age, next(self._order), commit, stream))

    def _log(self, branch: str, head: str) -> Iterator[GraphCommit]:
        """Read the log of a branch from a head on, in parts of doubling length."""
        done, limit = 0, _FIRST
        while True:
            commits = self._repo.log(branch, limit=limit)
            ids = (number for number, each in enumerate(commits) if each.graph_commit_id == head)
            start = next(ids, 0)  # newer commits were published since
            yield from commits[start + done :]
            done = max(done, len(commits) - start)
            if len(commits) < limit:
                return
            limit *= 2

    def _walk(self, commit_id: str | None) -> Iterator[GraphCommit]:
        """Walk from a commit to those that are in some log: its branch may be deleted."""
        while commit_id is not None and commit_id not in self._seen:
            if not self._left:
                self.problems.append("More commits of deleted branches are not shown.")
            self._left -= 1
            if self._left < 0:
                return
            commit = self._repo.commit(commit_id)
            if commit.manifest_branch in self._natives:
                return
            yield commit
            commit_id = commit.parent_commit_id
