"""Find the best common ancestors of two commits, from which a merge base is chosen. Pure.

Invariant: the walk goes from new to old and ends where only common history is left, so that its
cost follows how far the sides have diverged. A commit that cannot be looked up may hide common
ancestors; it is reported, never skipped. Clocks order the walk. A wrong clock costs reads, and can
add ancestors of what is found, which changes no merge.

``History`` looks the commits up, each once. Those of the merged branches are read page by page,
newest first, as the walk goes; any other is found by its id, and if its branch was deleted, the
commits before it are read page by page, too.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import timedelta
from itertools import islice
from typing import TypeAlias

import attrs

from omnigraph_l2._catalog.graph_commit import EPOCH, GraphCommit

__all__ = ["Ancestors", "History", "Lookup", "common_ancestors"]

Lookup: TypeAlias = Callable[[str], GraphCommit | None]

_OURS, _THEIRS, _BELOW = 1, 2, 4
_COMMON = _OURS | _THEIRS
_SOON = timedelta(microseconds=1)
_PAGE = 64


class History:
    """The commits that a merge has to know, by id. None means that one no longer exists."""

    def __init__(
        self,
        find: Callable[[str], GraphCommit | None],
        *,
        before: Callable[[GraphCommit], Iterator[GraphCommit]] = lambda _: iter(()),
        streams: Iterable[Iterator[GraphCommit]],
        known: Iterable[GraphCommit] = (),
    ) -> None:
        """``find`` looks everywhere; a stream gives a branch from its head downward.

        ``before`` gives what the branch of a commit made before it, where that branch is gone.
        """
        self._find = find
        self._before = before
        self._streams = list(streams)
        self._known: dict[str, GraphCommit | None] = {each.graph_commit_id: each for each in known}

    def __call__(self, commit_id: str) -> GraphCommit | None:
        """Return a commit, or None."""
        if commit_id not in self._known:
            for stream in self._streams:
                for commit in islice(stream, _PAGE):
                    self._known.setdefault(commit.graph_commit_id, commit)
                if commit_id in self._known:
                    return self._known[commit_id]
            found = self._known[commit_id] = self._find(commit_id)
            if found is not None:
                self._streams.append(self._before(found))
        return self._known[commit_id]


@attrs.frozen(kw_only=True)
class Ancestors:
    """The newest commits that two sides have in common."""

    best: tuple[str, ...]
    """Commits, newest first: several where the sides have merged each other crosswise."""
    lost: tuple[str, ...]
    """Missing commits, which may descend from a newer common ancestor."""


def common_ancestors(lookup: Lookup, ours: Collection[str], theirs: Collection[str]) -> Ancestors:
    """Find the best common ancestors of ``ours`` and ``theirs``.

    A commit counts as an ancestor of itself.
    """
    walk = _Walk(lookup)
    for tips, colour in ((ours, _OURS), (theirs, _THEIRS)):
        for tip in tips:
            walk.paint(tip, colour, timedelta())
    while walk.undecided:
        walk.step()
    best = [each for each in walk.found if not walk.colours[each] & _BELOW]
    return Ancestors(
        best=tuple(sorted(best, key=lambda each: (walk.found[each], each))),
        lost=tuple(each for each in walk.lost if not walk.colours[each] & _BELOW),
    )


class _Walk:
    """A walk that paints the ancestors of each side; below commits of both, a third colour."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._waiting: list[tuple[timedelta, str]] = []
        self.colours: defaultdict[str, int] = defaultdict(int)
        self.undecided: set[str] = set()
        """What waits and is not known to be below something common."""
        self.found: dict[str, timedelta] = {}
        self.lost: set[str] = set()

    def paint(self, commit_id: str, colour: int, after: timedelta) -> None:
        """Add a colour to a commit, which follows one of this age."""
        before = self.colours[commit_id]
        now = self.colours[commit_id] = before | colour
        if now == before:
            return
        commit = self._lookup(commit_id)
        age = after + _SOON if commit is None else EPOCH - commit.created_at
        heapq.heappush(self._waiting, (age, commit_id))
        (self.undecided.discard if now & _BELOW else self.undecided.add)(commit_id)

    def step(self) -> None:
        """Take the newest waiting commit and paint its parents."""
        age, commit_id = heapq.heappop(self._waiting)
        self.undecided.discard(commit_id)
        colour, commit = self.colours[commit_id], self._lookup(commit_id)
        if commit is None:
            self.lost.add(commit_id)
        if colour & _COMMON == _COMMON:
            if commit is not None and not colour & _BELOW:
                self.found[commit_id] = age
            colour |= _BELOW
            if not self.undecided:
                return  # what is left is below what was found
        for parent in _parents(commit):
            self.paint(parent, colour, age)


def _parents(commit: GraphCommit | None) -> list[str]:
    if commit is None:
        return []
    both = (commit.parent_commit_id, commit.merged_parent_commit_id)
    return [each for each in both if each is not None]
