"""A set of ids that is collected from a stream and queried afterwards.

Ids beyond a bound are partitioned by hash into a spill file, and each partition is processed by
itself; one that is still too large is partitioned again. This module knows nothing of the tables in
which ids are looked up.

Invariant: the answers are exact, whatever hashes collide, and memory is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l2._rows.partitioning import assign_partitions, group_by_partition
from omnigraph_l2._rows.spill_file import Extent, SpillFile

__all__ = ["IdSet", "MemoryBound"]

_DEEPEST = 8
"""How often ids are partitioned again before those that stay together are held in memory."""
_SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False)])


@attrs.frozen
class MemoryBound:
    """How much may be held in memory before it is spilled to disk."""

    ids: int = 262_144
    bytes: int = 16 * 1024 * 1024
    parts: int = attrs.field(default=256, kw_only=True)

    def holds(self, ids: int, size: int) -> bool:
        """Return whether that many may be held."""
        return ids <= self.ids and size <= self.bytes


class IdSet:
    """A set of ids with repetitions. It is closed at the latest when it is no longer used."""

    def __init__(
        self, bound: MemoryBound | None = None, *, directory: str | None = None, level: int = 0
    ) -> None:
        self._bound = MemoryBound() if bound is None else bound
        self._directory = directory
        self._level = level
        self._count = 0
        self._held: list[pa.StringArray] = []
        self._held_ids = 0
        self._held_bytes = 0
        self._file: SpillFile | None = None
        self._parts: list[list[Extent]] = []

    def __enter__(self) -> IdSet:  # noqa: PYI034  # Self needs Python 3.11
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return self._count

    @property
    def on_disk(self) -> bool:
        """Return whether the ids were spilled to disk."""
        return self._file is not None

    def add(self, ids: pa.StringArray) -> None:
        """Add some ids. None of them is null."""
        step = self._bound.ids
        for start in range(0, len(ids), step):
            part = _copy(ids.slice(start, step))
            self._count += len(part)
            self._held.append(part)
            self._held_ids += len(part)
            self._held_bytes += part.nbytes
            if not self._bound.holds(self._held_ids, self._held_bytes):
                self._spill()

    def find_repeated(self, limit: int) -> list[str]:
        """Return ids that were added more than once, each once, at most a limit of them."""
        found: list[str] = []
        for counted in self._count_ids():
            if len(found) >= limit:
                break
            twice = counted.field("values").filter(pc.greater(counted.field("counts"), 1))
            found += twice.slice(0, limit - len(found)).to_pylist()
        return found

    def batches(self, max_ids: int) -> Iterator[pa.StringArray]:
        """Return each id once, in batches of limited size, in no particular order.

        A look-up may read a whole table for each batch, so there are as few as memory allows.
        """
        group: list[pa.StringArray] = []
        held = size = 0
        for counted in self._count_ids():
            values = counted.field("values")
            for start in range(0, len(values), max_ids):
                part = values.slice(start, max_ids)
                if held + len(part) > max_ids or size + part.nbytes > self._bound.bytes:
                    yield from _join(group)
                    group, held, size = [], 0, 0
                group.append(part)
                held, size = held + len(part), size + part.nbytes
        yield from _join(group)

    def close(self) -> None:
        """Release all ids."""
        self._held, self._parts, self._count = [], [], 0
        self._held_ids = self._held_bytes = 0
        if self._file is not None:
            self._file.close()
            self._file = None

    def _spill(self) -> None:
        if self._file is None:
            self._file = SpillFile(self._directory)
            self._parts = [[] for _ in range(self._bound.parts)]
        ids = pa.concat_arrays(self._held)
        self._held, self._held_ids, self._held_bytes = [], 0, 0
        parts = assign_partitions(ids, self._bound.parts, self._level)
        order, where = group_by_partition(parts, self._bound.parts)
        ids = ids.take(pa.array(order))
        for part, rows in where:
            batch = pa.record_batch([ids[rows]], schema=_SCHEMA)
            self._parts[part].append(self._file.append(batch.serialize()))

    def _count_ids(self) -> Iterator[pa.StructArray]:
        """Return all ids with their counts, each id in only one of the arrays."""
        if self._file is None:
            if self._held:
                yield pc.value_counts(pa.concat_arrays(self._held))
            return
        if self._held:
            self._spill()
        for extents in self._parts:
            yield from self._counted_part(self._file, extents)

    def _counted_part(self, file: SpillFile, extents: list[Extent]) -> Iterator[pa.StructArray]:
        distinct = twice = pa.array([], pa.string())
        for ids in self._groups(file, extents):
            counted = pc.value_counts(pa.concat_arrays([distinct, ids]))
            distinct = counted.field("values")
            again = distinct.filter(pc.greater(counted.field("counts"), 1))
            twice = pc.unique(pa.concat_arrays([twice, again]))
            if len(distinct) > 1 and not self._may_hold(distinct):
                yield from self._partition_again(file, extents)
                return
        if len(distinct):
            counts = pc.add(pc.is_in(distinct, twice).cast(pa.int64()), 1)
            yield pa.StructArray.from_arrays([distinct, counts], names=["values", "counts"])

    def _groups(self, file: SpillFile, extents: list[Extent]) -> Iterator[pa.StringArray]:
        """Read a partition again, in groups that fit in memory."""
        group: list[pa.StringArray] = []
        held = size = 0
        for extent in extents:
            ids = pa.ipc.read_record_batch(file.read(extent), _SCHEMA).column(0)
            group.append(ids)
            held, size = held + len(ids), size + extent.length
            if not self._bound.holds(held, size):
                yield pa.concat_arrays(group)
                group, held, size = [], 0, 0
        if group:
            yield pa.concat_arrays(group)

    def _may_hold(self, distinct: pa.StringArray) -> bool:
        fits = self._bound.holds(len(distinct), distinct.nbytes)
        return fits or self._level == _DEEPEST

    def _partition_again(self, file: SpillFile, extents: list[Extent]) -> Iterator[pa.StructArray]:
        deeper = IdSet(self._bound, directory=self._directory, level=self._level + 1)
        with deeper:
            for ids in self._groups(file, extents):
                deeper.add(ids)
            yield from deeper._count_ids()


def _join(group: list[pa.StringArray]) -> Iterator[pa.StringArray]:
    if group:
        yield pa.concat_arrays(group)


def _copy(ids: pa.StringArray) -> pa.StringArray:
    """Copy ids, so that the batch that they came in can be freed."""
    return pa.concat_arrays([ids, pa.array([], pa.string())])
