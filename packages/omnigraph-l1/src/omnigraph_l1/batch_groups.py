"""Group batches or arrays into few large ones, for work whose cost hardly grows with their size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

__all__ = ["group_parts"]


class _Part(Protocol):
    @property
    def nbytes(self) -> int: ...

    def __len__(self) -> int: ...


_P = TypeVar("_P", bound=_Part)


def group_parts(parts: Iterable[_P], *, rows: int, size: int) -> Iterator[list[_P]]:
    """Yield consecutive parts in lists of at most so many rows and bytes.

    A part that is larger by itself is alone in its list.
    """
    group: list[_P] = []
    count = total = 0
    for part in parts:
        part_size = part.nbytes
        if group and (count + len(part) > rows or total + part_size > size):
            yield group
            group, count, total = [], 0, 0
        group.append(part)
        count, total = count + len(part), total + part_size
        if count >= rows or total >= size:
            yield group
            group, count, total = [], 0, 0
    if group:
        yield group
