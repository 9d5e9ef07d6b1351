"""What the rows of each commit must be, from what was acknowledged: slow, and plain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any

from branch_jobs import Done

__all__ = ["CommitModel"]

_CLASH = object()
State = Mapping[str, int]


class CommitModel:
    """All acknowledged commits, and the first one, which has the rows that were there before."""

    def __init__(self, first: str, rows: State, done: Iterable[Done]) -> None:
        self._first, self._rows = first, rows
        self._done = {each.commit.graph_commit_id: each for each in done}
        self._settled = cache(self._state)
        self._ancestors = cache(self._ancestors_of)

    def state(self, commit: str) -> State:
        """Give the rows of a commit. What it came from is settled first, so nothing goes deep."""
        left, seen = [commit], {commit}
        while left:
            new = {*self._parents(left.pop())} - seen
            seen |= new
            left += new
        for each in sorted(seen, key=self._age):
            self._ancestors(each)
            self._settled(each)
        return self._settled(commit)

    def _state(self, commit: str) -> State:
        if commit == self._first:
            return self._rows
        done = self._done[commit]
        ours = self._parents(commit)[0]
        if done.strategy is None:
            return {**self._settled(ours), **done.rows}
        merged = done.commit.merged_parent_commit_id
        if done.reverted is not None:
            return self._merged(done, [done.reverted], ours, self._parents(done.reverted)[0])
        assert merged is not None, "a merge has two parents"
        return self._merged(done, self._bases([ours], [merged]), ours, merged)

    def _merged(self, done: Done, base: list[str], ours: str, theirs: str) -> State:
        found = {}
        mine, others = self._settled(ours), self._settled(theirs)
        for row in {*mine, *others}:
            favoured = (mine if done.strategy == "ours" else others).get(row)
            if row in done.resolved:
                # What both come from may be gone: then more is in conflict, if it differs.
                assert mine.get(row) != others.get(row), f"{done}: {row!r} is the same"
                chosen = favoured
            else:
                chosen = _ruled(self._value(base, row), mine.get(row), others.get(row))
            if chosen is _CLASH:
                assert done.reverted is not None, f"{done}: {row!r} was in conflict"
                assert done.strategy != "error", f"{done}: {row!r} was in conflict"
                chosen = favoured
            if chosen is not None:
                found[row] = chosen
        return found

    def _value(self, tips: list[str], row: str) -> Any:
        """Give what a row is where some commits are merged."""
        *left, last = tips
        theirs = self._settled(last).get(row)
        if not left:
            return theirs
        ours = self._value(left, row)
        if ours is not _CLASH and ours == theirs:
            return ours
        return _ruled(self._value(self._bases(left, [last]), row), ours, theirs)

    def _bases(self, ours: Collection[str], theirs: Collection[str]) -> list[str]:
        """Give the best common ancestors, the newest first."""
        one, other = (set().union(*map(self._ancestors, tips)) for tips in (ours, theirs))
        common = one & other
        below = set().union(*(self._ancestors(each) - {each} for each in common))
        return sorted(common - below, key=self._age, reverse=True)

    def _ancestors_of(self, commit: str) -> frozenset[str]:
        return frozenset([commit]).union(*map(self._ancestors, self._parents(commit)))

    def _parents(self, commit: str) -> list[str]:
        if commit == self._first:
            return []
        made = self._done[commit].commit
        both = (made.parent_commit_id, made.merged_parent_commit_id)
        return [each for each in both if each is not None]

    def _age(self, commit: str) -> Any:
        done = self._done.get(commit)
        return (False, None) if done is None else (True, done.commit.created_at)


def _ruled(base: Any, ours: Any, theirs: Any) -> Any:
    if ours is not _CLASH and ours == theirs:
        return ours
    if base is not _CLASH and base == theirs:
        return ours
    return theirs if base is not _CLASH and base == ours else _CLASH
