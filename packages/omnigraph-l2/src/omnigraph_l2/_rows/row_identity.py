"""Which rows of two versions are the same, by row ids and the versions of their last change.

Invariant: two rows are the same only if they have the same id and the same last change, and that
change was made before the two lineages separated. Memory is bounded: beyond some rows, the others
wait on disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from omnigraph_l1.row_addresses import Addresses
from omnigraph_l2._rows.partitioning import group_by_partition
from omnigraph_l2._rows.spill_file import Extent, SpillFile

__all__ = ["FACTS", "Facts", "RowIdJoin", "facts_of"]

Facts = npt.NDArray[np.uint64]
"""Rows of three numbers: the id of a row, the version of its last change, its address."""

FACTS: Final = ("_rowid", "_row_last_updated_at_version", "_rowaddr")
_ID, _CHANGED, _ADDRESS = range(3)
_ROWS_AT_ONCE = 2_000_000
_MOST_PARTS = 4_096


def facts_of(batch: pa.RecordBatch) -> Facts:
    """Return the columns ``FACTS`` of a batch."""
    columns = [column.fill_null(0).to_numpy() for column in batch.columns]
    return np.stack(columns, axis=1)


class RowIdJoin:
    """Compares the rows of two versions. It is closed when it is no longer used."""

    def __init__(self, rows: int, *, at_once: int = _ROWS_AT_ONCE) -> None:
        """``rows`` is the approximate number of rows."""
        self._parts = min(-(-rows // at_once) or 1, _MOST_PARTS)
        self._file = SpillFile() if self._parts > 1 else None
        self._sides: tuple[list[list[Facts | Extent]], ...] = tuple(
            [[] for _ in range(self._parts)] for _ in range(2)
        )

    def __enter__(self) -> RowIdJoin:  # noqa: PYI034  # Self needs Python 3.11
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add_before(self, facts: Facts) -> None:
        """Add rows of the older version."""
        self._add(self._sides[0], facts)

    def add_after(self, facts: Facts) -> None:
        """Add rows of the newer version."""
        self._add(self._sides[1], facts)

    def differing(self, common: int | None) -> Iterator[tuple[Addresses, Addresses]]:
        """Return the addresses of the rows that are not the same.

        ``common`` is the last version that both lineages share; None if they are one lineage.
        """
        for part in range(self._parts):
            before, after = (self._read(side[part]) for side in self._sides)
            _, mine, others = np.intersect1d(
                before[:, _ID], after[:, _ID], assume_unique=True, return_indices=True
            )
            changed = before[mine, _CHANGED]
            same = (changed == after[others, _CHANGED]) & (changed > 0)
            if common is not None:
                same &= changed <= common
            yield (
                np.delete(before[:, _ADDRESS], mine[same]),
                np.delete(after[:, _ADDRESS], others[same]),
            )

    def _add(self, side: list[list[Facts | Extent]], facts: Facts) -> None:
        if self._file is None:
            side[0].append(facts)
            return
        part_of = (facts[:, _ID] % np.uint64(self._parts)).astype(np.uint16)
        order, where = group_by_partition(part_of, self._parts)
        ordered = facts[order]
        for part, rows in where:
            side[part].append(self._file.append(pa.py_buffer(ordered[rows])))

    def _read(self, blocks: list[Facts | Extent]) -> Facts:
        read = [self._block(block) for block in blocks]
        return np.concatenate(read) if read else np.zeros((0, 3), dtype=np.uint64)

    def _block(self, block: Facts | Extent) -> Facts:
        if isinstance(block, Extent) and self._file is not None:
            return np.frombuffer(self._file.read(block), dtype=np.uint64).reshape(-1, 3)
        return block  # type: ignore[return-value]
