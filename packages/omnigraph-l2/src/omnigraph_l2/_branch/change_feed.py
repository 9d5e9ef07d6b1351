"""The change feed: what each commit of a branch changed, oldest first.

Invariant: the feed yields each commit that the branch had at the call, once and in order. Commits
that are published later are not included. The cursor of a commit resumes right after it, in any
process. A commit whose data was cleaned up raises ``SnapshotExpired``, here or when its diff is
read; none is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from itertools import islice
from typing import Any

import attrs

from omnigraph_l2._branch.graph_diff import Diff, diff_of
from omnigraph_l2._branch.log_walk import Position, commits_after, position_of
from omnigraph_l2._branch.revision_resolver import Revision, RevisionResolver
from omnigraph_l2._branch.snapshot import Snapshot, beginning
from omnigraph_l2._catalog.catalog_state import CatalogState
from omnigraph_l2._catalog.graph_commit import GraphCommit
from omnigraph_l2._commit.branch_session import BranchSession
from omnigraph_l2._errors.translating import translate_errors
from omnigraph_l2._store.repository_root import RepositoryRoot
from omnigraph_l2.errors import NotOnBranch

__all__ = ["ChangeSet", "Feed"]

_END_OF_TIME = datetime.max.replace(tzinfo=timezone.utc)


@attrs.frozen(kw_only=True, eq=False)
class ChangeSet:
    """What one commit changed."""

    commit: GraphCommit
    diff: Diff
    """What differs from the commit before it on the branch."""

    @property
    def cursor(self) -> str:
        """Its position, as text: ``repo.changes(since=cursor)`` goes on right after it."""
        return self.commit.graph_commit_id


@attrs.frozen(kw_only=True)
class Feed:
    """Reads what the commits of a branch changed."""

    _root: RepositoryRoot
    _references: RevisionResolver
    _branch: BranchSession

    def since(self, since: Any, limit: int | None) -> Iterator[ChangeSet]:
        """Yield what each commit after a revision changed; raise for a bad ``since`` at once."""
        state = self._branch.catalog.refresh().state
        if since is None:
            start = beginning(self._root, self._branch.name, self._branch.native)
            after = None
        else:
            revision = self._resolve(since)
            start, after = self._references.snapshot_of(revision), _position(revision)
        return islice(self._change_sets(state, start, after), limit)

    def _change_sets(
        self, state: CatalogState, before: Snapshot, after: Position | None
    ) -> Iterator[ChangeSet]:
        with translate_errors():
            for commit in commits_after(self._root, self._branch, state, after):
                now = self._references.snapshot_of(self._references.of_commit(self._branch, commit))
                made = ChangeSet(commit=commit, diff=diff_of(self._root, before, now))
                before = now
                yield made

    def _resolve(self, since: Any) -> Revision:
        if isinstance(since, str) and self._branch.find(since) is not None:
            return self._references.at_commit(self._branch, since)
        revision = self._references.find(since, branch=self._branch.name)
        commit_id = revision.commit_id
        if not isinstance(since, int) and (
            commit_id is None or self._branch.find(commit_id) is None
        ):
            raise NotOnBranch(branch=self._branch.name, reference=str(since))
        return revision


def _position(revision: Revision) -> Position:
    """Return the position of the last commit of a revision."""
    return (
        (revision.version, _END_OF_TIME)
        if revision.commit is None
        else position_of(revision.commit)
    )
