"""The changes feed: what each commit of a branch changed, oldest first.

Always: the commits that the branch had when it was asked, each once, in order, however many are
published meanwhile; the cursor of one resumes right after it, in any process. What was cleaned up
is ``SnapshotExpired``, here or when the diff is looked at: no commit is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from itertools import islice
from typing import Any

import attrs

from omnigraph_l2._branches.graph_branch import GraphBranch
from omnigraph_l2._catalog.commits import GraphCommit
from omnigraph_l2._catalog.state import CatalogState
from omnigraph_l2._differences.diff import Diff, diff_of
from omnigraph_l2._differences.walking import Position, commits_after, position_of
from omnigraph_l2._errors.translating import border
from omnigraph_l2._references.moment import Moment
from omnigraph_l2._references.resolving import References
from omnigraph_l2._snapshots import Snapshot, beginning
from omnigraph_l2._storage import Root
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
        """Where it stands, as text: ``repo.changes(since=cursor)`` goes on right after it."""
        return self.commit.graph_commit_id


@attrs.frozen(kw_only=True)
class Feed:
    """Tells what the commits of a branch changed."""

    _root: Root
    _references: References
    _branch: GraphBranch

    def since(self, since: Any, limit: int | None) -> Iterator[ChangeSet]:
        """Give what each commit after a moment changed. What is wrong with that is told at once."""
        state = self._branch.catalog.refresh().state
        if since is None:
            start = beginning(self._root, self._branch.name, self._branch.native)
            after = None
        else:
            moment = self._moment(since)
            start, after = self._references.shown(moment), _position(moment)
        return islice(self._change_sets(state, start, after), limit)

    def _change_sets(
        self, state: CatalogState, before: Snapshot, after: Position | None
    ) -> Iterator[ChangeSet]:
        with border():
            for commit in commits_after(self._root, self._branch, state, after):
                now = self._references.shown(self._references.of_commit(self._branch, commit))
                made = ChangeSet(commit=commit, diff=diff_of(self._root, before, now))
                before = now
                yield made

    def _moment(self, since: Any) -> Moment:
        if isinstance(since, str) and self._branch.find(since) is not None:
            return self._references.at_commit(self._branch, since)
        moment = self._references.find(since, branch=self._branch.name)
        commit_id = moment.commit_id
        if not isinstance(since, int) and (
            commit_id is None or self._branch.find(commit_id) is None
        ):
            raise NotOnBranch(branch=self._branch.name, reference=str(since))
        return moment


def _position(moment: Moment) -> Position:
    """Tell where the last commit stands that the moment shows."""
    return (moment.version, _END_OF_TIME) if moment.commit is None else position_of(moment.commit)
