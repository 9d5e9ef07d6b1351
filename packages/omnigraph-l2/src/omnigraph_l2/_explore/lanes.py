"""Lanes: where the lines of the commit graph run. Pure, one commit after the other, newest first.

Always: a line keeps its lane from a commit down to its parent, so that what was drawn stays right
when older commits are added below. Lane 0 is that of main.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import attrs

__all__ = ["Lanes", "Place"]

_MAIN: Final = 0


@attrs.frozen(kw_only=True)
class Place:
    """Where a commit is drawn, and the lines around it. A line is a lane and a colour."""

    lane: int
    through: tuple[tuple[int, int], ...]
    """Lines that pass by."""
    above: tuple[tuple[int, int], ...]
    """Lines that come from above and end in this commit."""
    below: tuple[tuple[int, int], ...]
    """Lines that go from this commit down, to its parents."""


class Lanes:
    """Gives each commit its place."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, int] | None] = [None]
        self._placed: set[str] = set()

    def place(self, commit_id: str, parents: Sequence[tuple[str, int]], *, main: bool) -> Place:
        """Place the next commit: its first parent goes on in its lane, others get one.

        Each parent comes with the colour of the line to it.
        """
        above = [
            (lane, line[1])
            for lane, line in enumerate(self._waiting)
            if line is not None and line[0] == commit_id
        ]
        ending = [lane for lane, _ in above]
        through = tuple(
            (lane, line[1])
            for lane, line in enumerate(self._waiting)
            if line is not None and lane not in ending
        )
        own = self._own(ending, main=main)
        for lane in ending:
            self._waiting[lane] = None
        self._placed.add(commit_id)
        below = [self._go_on(*parent, own if not n else None) for n, parent in enumerate(parents)]
        return Place(
            lane=own,
            through=through,
            above=tuple(above),
            below=tuple(line for line in below if line is not None),
        )

    def _own(self, ending: Collection[int], *, main: bool) -> int:
        if main:
            return _MAIN
        return min(ending) if ending else self._free()

    def _go_on(self, parent: str, colour: int, own: int | None) -> tuple[int, int] | None:
        """Begin the line to a parent; None where the clocks of writers had the parent first."""
        if parent in self._placed:
            return None
        if own is None:
            for lane, line in enumerate(self._waiting):
                if line is not None and line[0] == parent:
                    return lane, line[1]
            own = self._free()
        self._waiting[own] = (parent, colour)
        return own, colour

    def _free(self) -> int:
        """Find the first lane beside that of main in which no line runs."""
        for lane in range(_MAIN + 1, len(self._waiting)):
            if self._waiting[lane] is None:
                return lane
        self._waiting.append(None)
        return len(self._waiting) - 1
