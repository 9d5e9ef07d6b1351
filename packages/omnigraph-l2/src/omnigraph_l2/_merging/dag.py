"""What two commits come from: their best common ancestors in the graph of commits. Pure.

Always: the walk goes from new to old, and ends where only common history is left: what it looks at
follows how far the two have diverged. Where a commit that one side has cannot be looked up, nobody
knows what else both have: it is told, and never passed over. Clocks order the walk; that they are
wrong costs looks, and can add ancestors of what is found, which changes no merge.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import TypeAlias

import attrs

from omnigraph_l2._catalog.commits import EPOCH, GraphCommit

__all__ = ["Ancestors", "Lookup", "common_ancestors"]

Lookup: TypeAlias = Callable[[str], GraphCommit | None]

_OURS, _THEIRS, _BELOW = 1, 2, 4
_COMMON = _OURS | _THEIRS
_SOON = timedelta(microseconds=1)


@attrs.frozen(kw_only=True)
class Ancestors:
    """The newest that two sides have in common."""

    best: tuple[str, ...]
    """Commits, newest first: several where the sides have merged each other crosswise."""
    lost: tuple[str, ...]
    """Commits that nobody knows, from which something may come that both have and that is newer."""


def common_ancestors(lookup: Lookup, ours: Collection[str], theirs: Collection[str]) -> Ancestors:
    """Find what both ``ours`` and ``theirs`` come from, and nothing below that.

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
    """Both sides are painted downward, each in its colour; below what has both, a third one."""

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
        """Take the newest that waits, and paint its parents."""
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
