"""A graph of commits, drawn with letters. Pure.

Always: each commit has a line of its own, none stands above one that follows it, and each line of
the picture is joined to those above and below. What is merged into it opens a column to the right
of its commit; of columns that wait for the same commit, only the leftmost goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

__all__ = ["Drawn", "drawn"]


@frozen
class Drawn:
    """A line of the picture."""

    picture: str
    commit: str | None = None
    """The commit that is told beside it; None where columns only move."""


def drawn(commits: Sequence[tuple[str, Sequence[str]]]) -> Iterator[Drawn]:
    """Draw commits, given as ids with those of their parents, children before parents.

    A parent that is not among them is where the picture is cut off: its column goes on to the end.
    """
    columns: list[str] = []
    """What each column waits for."""
    for commit, parents in commits:
        if commit not in columns:
            columns.append(commit)
        at = columns.index(commit)
        yield Drawn(_row(len(columns), at), commit)
        if not parents:
            del columns[at]
            if at < len(columns):
                yield Drawn(_moving_left(len(columns), at))
            continue
        columns[at] = parents[0]
        for number, parent in enumerate(parents[1:]):
            yield Drawn(_moving_right(len(columns), at + number))
            columns.insert(at + number + 1, parent)
        while (twice := _twice(columns)) is not None:
            yield Drawn(_closing(len(columns), *twice))
            del columns[twice[1]]


def _twice(columns: Sequence[str]) -> tuple[int, int] | None:
    """Give two columns that wait for the same commit."""
    for last in reversed(range(len(columns))):
        first = columns.index(columns[last])
        if first != last:
            return first, last
    return None


def _row(count: int, at: int) -> str:
    return " ".join("*" if index == at else "|" for index in range(count))


def _closing(count: int, at: int, last: int) -> str:
    """Draw how column ``last`` goes over into column ``at``, and those to its right move up."""
    cells = list(" " * (2 * count - 1))
    for index in range(last):
        cells[2 * index] = "|"
    for gap in range(2 * at + 1, 2 * last - 1, 2):
        cells[gap] = "_"
    for index in range(last, count):
        cells[2 * index - 1] = "/"
    return "".join(cells).rstrip()


def _moving_left(count: int, at: int) -> str:
    """Draw how column ``at`` has ended, and those to its right move up."""
    return ("| " * at + " " + "/ " * (count - at)).rstrip()


def _moving_right(count: int, at: int) -> str:
    """Draw how a column opens to the right of ``at``, and those there make room."""
    return ("| " * at + "|" + "\\ " * (count - at)).rstrip()
