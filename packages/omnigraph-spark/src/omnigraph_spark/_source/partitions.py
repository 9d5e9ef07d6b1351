"""How a table is cut into what one task reads. Pure.

Always: each row is in one part. Small fragments are read together, large ones in ranges; no part
is larger than the limits by more than one fragment's rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

import attrs
from pyspark.sql.datasource import InputPartition

from omnigraph_l2 import Fragment

__all__ = ["Limits", "Part", "batch_rows", "matching", "parts"]

_MOST_ROWS_A_BATCH = 65_536
_BYTES_A_BATCH = 8 * 1024 * 1024


@attrs.frozen
class Limits:
    """How much one task reads at the most."""

    rows: int
    size_bytes: int

    def pieces(self, rows: int, size_bytes: int) -> int:
        """Tell how many parts this makes."""
        return max(-(-rows // self.rows), -(-size_bytes // self.size_bytes))


@attrs.frozen
class Part(InputPartition):
    """What one task reads: some fragments, or a range of one."""

    fragments: tuple[int, ...]
    offset: int | None = None
    limit: int | None = None
    batch_rows: int = _MOST_ROWS_A_BATCH
    use_index: bool | None = None
    """Whether an index serves the filter; None without a filter."""


def parts(fragments: Iterable[Fragment], limits: Limits, *, like: Part) -> list[Part]:
    """Cut a table. With a filter a fragment is not cut: Lance counts a range after it."""
    made: list[Part] = []
    together: list[int] = []
    rows = size_bytes = 0

    def close() -> None:
        nonlocal rows, size_bytes
        if together:
            made.append(attrs.evolve(like, fragments=tuple(together)))
        together.clear()
        rows = size_bytes = 0

    for each in fragments:
        pieces = limits.pieces(each.rows, each.size_bytes)
        if pieces > 1 and each.rows > 1 and like.use_index is None:
            close()
            made.extend(_ranges(each, min(pieces, each.rows), like))
            continue
        if limits.pieces(rows + each.rows, size_bytes + each.size_bytes) > 1:
            close()
        together.append(each.number)
        rows, size_bytes = rows + each.rows, size_bytes + each.size_bytes
    close()
    return made or [like]


def matching(fragments: Iterable[Fragment], found: Mapping[int, int]) -> list[Fragment]:
    """Leave only the fragments, and of them the rows, that an index has found."""
    return [
        Fragment(each.number, found[each.number], 0) for each in fragments if found.get(each.number)
    ]


def batch_rows(rows: int, size_bytes: int) -> int:
    """Choose how many rows travel together: fewer where rows are large."""
    fitting = _BYTES_A_BATCH * rows // max(size_bytes, 1)
    return min(_MOST_ROWS_A_BATCH, max(1, fitting))


def _ranges(fragment: Fragment, pieces: int, like: Part) -> Iterator[Part]:
    bounds = [fragment.rows * piece // pieces for piece in range(pieces + 1)]
    for start, end in pairwise(bounds):
        yield attrs.evolve(like, fragments=(fragment.number,), offset=start, limit=end - start)
