"""Join the rows of two tables by id, with partitions that are spilled to disk.

Invariant: memory is bounded: rows wait on disk once there are many, and a partition that is still
too large is partitioned again. All rows of an id are in one partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Final

import attrs
import pyarrow as pa

from omnigraph_l2._rows.partitioning import assign_partitions, group_by_partition
from omnigraph_l2._rows.spill_file import Extent, SpillFile

__all__ = ["PartitionedRows"]

_BYTES: Final = 32 * 1024 * 1024
_PARTS: Final = 64
_DEEPEST: Final = 8


@attrs.define
class _Side:
    schema: pa.Schema
    held: list[pa.RecordBatch] = attrs.field(factory=list)
    parts: list[list[Extent]] = attrs.field(factory=lambda: [[] for _ in range(_PARTS)])


class PartitionedRows:
    """The rows of two tables, each with an ``id``. Closed when it is no longer used."""

    def __init__(
        self, before: pa.Schema, after: pa.Schema, *, in_memory: int = _BYTES, level: int = 0
    ) -> None:
        self.before, self.after = _Side(before), _Side(after)
        self._bound = in_memory
        self._level = level
        self._held = 0
        self._file: SpillFile | None = None

    def __enter__(self) -> PartitionedRows:  # noqa: PYI034  # Self needs Python 3.11
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, side: _Side, batches: Iterable[pa.RecordBatch]) -> None:
        """Add rows of one side."""
        for batch in batches:
            if batch.num_rows:
                side.held.append(batch)
                self._held += batch.nbytes
                if self._held > self._bound:
                    self._spill()

    def partitions(self) -> Iterator[tuple[pa.Table, pa.Table]]:
        """Return the rows of both sides, partition by partition."""
        if self._file is None:
            if self.before.held or self.after.held:
                yield _table(self.before, self.before.held), _table(self.after, self.after.held)
            return
        self._spill()
        for part in range(_PARTS):
            size = sum(each.length for side in self._both for each in side.parts[part])
            if size > 4 * self._bound and self._level < _DEEPEST:
                yield from self._partition_again(part)
            elif size:
                mine, theirs = (_table(side, self._read(side, part)) for side in self._both)
                yield mine, theirs

    @property
    def _both(self) -> tuple[_Side, _Side]:
        return self.before, self.after

    def _partition_again(self, part: int) -> Iterator[tuple[pa.Table, pa.Table]]:
        deeper = PartitionedRows(
            self.before.schema, self.after.schema, in_memory=self._bound, level=self._level + 1
        )
        with deeper:
            deeper.add(deeper.before, self._read(self.before, part))
            deeper.add(deeper.after, self._read(self.after, part))
            yield from deeper.partitions()

    def _spill(self) -> None:
        if self._file is None:
            self._file = SpillFile()
        for side in self._both:
            if side.held:
                self._deal(self._file, side)
        self._held = 0

    def _deal(self, file: SpillFile, side: _Side) -> None:
        rows = _table(side, side.held).combine_chunks().to_batches()
        side.held = []
        for batch in rows:
            part_of = assign_partitions(batch.column("id"), _PARTS, self._level)
            order, where = group_by_partition(part_of, _PARTS)
            ordered = batch.take(pa.array(order))
            for part, of_part in where:
                side.parts[part].append(file.append(ordered[of_part].serialize()))

    def _read(self, side: _Side, part: int) -> Iterator[pa.RecordBatch]:
        if self._file is not None:
            for extent in side.parts[part]:
                yield pa.ipc.read_record_batch(self._file.read(extent), side.schema)


def _table(side: _Side, batches: Iterable[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(batches, side.schema)
