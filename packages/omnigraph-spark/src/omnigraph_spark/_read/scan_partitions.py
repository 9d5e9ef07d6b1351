"""Partition the scan of a table.

Invariant: each row is in one partition. Small fragments are read together, large ones in ranges. No
partition exceeds the limits by more than one fragment's rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

import attrs
from pyspark.sql.datasource import InputPartition

from omnigraph_l2 import Fragment

__all__ = [
    "PartitionLimits",
    "ScanPartition",
    "choose_batch_rows",
    "keep_matching",
    "plan_partitions",
]

_MOST_ROWS_A_BATCH = 65_536
_BYTES_A_BATCH = 8 * 1024 * 1024


@attrs.frozen
class PartitionLimits:
    """The maximum size of a partition."""

    rows: int
    size_bytes: int

    def pieces(self, rows: int, size_bytes: int) -> int:
        """Return how many partitions this many rows and bytes need."""
        return max(-(-rows // self.rows), -(-size_bytes // self.size_bytes))


@attrs.frozen
class ScanPartition(InputPartition):
    """What one task reads: some fragments, or a range of one."""

    fragments: tuple[int, ...]
    offset: int | None = None
    limit: int | None = None
    batch_rows: int = _MOST_ROWS_A_BATCH
    use_index: bool | None = None
    """Whether an index serves the filter; None without a filter."""


def plan_partitions(
    fragments: Iterable[Fragment], limits: PartitionLimits, *, like: ScanPartition
) -> list[ScanPartition]:
    """Partition a table. With a filter fragments are not split: Lance applies ranges after it."""
    made: list[ScanPartition] = []
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
            made.extend(_split_fragment(each, min(pieces, each.rows), like))
            continue
        if limits.pieces(rows + each.rows, size_bytes + each.size_bytes) > 1:
            close()
        together.append(each.number)
        rows, size_bytes = rows + each.rows, size_bytes + each.size_bytes
    close()
    return made or [like]


def keep_matching(fragments: Iterable[Fragment], found: Mapping[int, int]) -> list[Fragment]:
    """Return only the fragments, and the number of their rows, that an index found."""
    return [
        Fragment(each.number, found[each.number], 0) for each in fragments if found.get(each.number)
    ]


def choose_batch_rows(rows: int, size_bytes: int) -> int:
    """Return the number of rows of a batch: fewer where rows are large."""
    fitting = _BYTES_A_BATCH * rows // max(size_bytes, 1)
    return min(_MOST_ROWS_A_BATCH, max(1, fitting))


def _split_fragment(
    fragment: Fragment, pieces: int, like: ScanPartition
) -> Iterator[ScanPartition]:
    bounds = [fragment.rows * piece // pieces for piece in range(pieces + 1)]
    for start, end in pairwise(bounds):
        yield attrs.evolve(like, fragments=(fragment.number,), offset=start, limit=end - start)
