"""The lanes of the commit graph: where its lines run. No I/O; commits come newest first.

Invariant: a line keeps its lane from a commit down to its parent, so older commits can be added
below without a change above. Lane 0 is for main.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import attrs

__all__ = ["LanePosition", "Lanes"]

_MAIN: Final = 0


@attrs.frozen(kw_only=True)
class LanePosition:
    """The position of a commit and the lines around it. A line is a lane and a colour."""

    lane: int
    through: tuple[tuple[int, int], ...]
    """Lines that pass the commit."""
    above: tuple[tuple[int, int], ...]
    """Lines from above that end in this commit."""
    below: tuple[tuple[int, int], ...]
    """Lines from this commit down to its parents."""


class Lanes:
    """Assigns each commit its position."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, int] | None] = [None]
        self._placed: set[str] = set()

    def place(
        self, commit_id: str, parents: Sequence[tuple[str, int]], *, main: bool
    ) -> LanePosition:
        """Return the position of the next commit.

        Its first parent continues in its lane, other parents get a lane. Each parent is a pair of
        its id and the colour of the line to it.
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
        below = [
            self._extend_line(*parent, own if not n else None) for n, parent in enumerate(parents)
        ]
        return LanePosition(
            lane=own,
            through=through,
            above=tuple(above),
            below=tuple(line for line in below if line is not None),
        )

    def _own(self, ending: Collection[int], *, main: bool) -> int:
        if main:
            return _MAIN
        return min(ending) if ending else self._free()

    def _extend_line(self, parent: str, colour: int, own: int | None) -> tuple[int, int] | None:
        """Begin the line to a parent; None if clock skew sorted the parent first."""
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
        """Return the first lane other than that of main without a line."""
        for lane in range(_MAIN + 1, len(self._waiting)):
            if self._waiting[lane] is None:
                return lane
        self._waiting.append(None)
        return len(self._waiting) - 1
