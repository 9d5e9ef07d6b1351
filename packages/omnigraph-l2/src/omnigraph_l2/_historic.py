"""What a repository handle tells of what changed. It only delegates."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from omnigraph_l2._branches.pointers import MAIN
from omnigraph_l2._differences import ChangeSet, Diff, Feed, diff_of
from omnigraph_l2._errors.translating import border
from omnigraph_l2._given import checked_limit
from omnigraph_l2._handle import Handle
from omnigraph_l2._snapshots import Snapshot, beginning

__all__ = ["Historic"]


class Historic(Handle):
    """The part of a repository handle that compares moments of the graph."""

    def diff(
        self,
        before: str | int | Snapshot | None,
        after: str | int | Snapshot,
        tables: Collection[str] | None = None,
    ) -> Diff:
        """Tell what differs between two moments: of all tables, or of some.

        Each is a branch, a tag, a commit id, a version of main, or a snapshot; None before is the
        very beginning, where nothing was. Tables that both show at the same version cost nothing,
        and rows are compared when they are asked for.
        """
        self._root.check_open()
        with border():
            older = beginning(self._root, MAIN, None) if before is None else self._shown(before)
            newer = self._shown(after)
            return diff_of(self._root, older, newer, tables)

    def changes(
        self,
        since: str | int | Snapshot | None = None,
        branch: str = MAIN,
        limit: int | None = None,
    ) -> Iterator[ChangeSet]:
        """Tell what each commit of a branch changed, oldest first, from its first commit on.

        ``since`` is where to go on: the ``cursor`` of the last change set that was seen, a commit
        id, a tag, a version of the branch, or a snapshot. It ends with the commits that there were
        when it was called.
        """
        count = checked_limit("Reading changes", limit)
        with border():
            feed = Feed(root=self._root, references=self._references, branch=self._branch(branch))
            return feed.since(since, count)

    def _shown(self, reference: str | int | Snapshot) -> Snapshot:
        if isinstance(reference, Snapshot):
            return reference
        return self._references.shown(self._references.find(reference))
