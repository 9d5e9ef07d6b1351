"""The ids of an append, collected while they stream by, to be asked about afterwards.

Always: the answers are exact, whatever hashes collide, and memory is bounded: what is more than
some ids is dealt out by hash to parts of a file, and each part is looked at by itself. A part that
is still too large is dealt out again. Of the tables in which ids are looked up it knows nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l2._data.dealing import by_part
from omnigraph_l2._data.hashing import parts_of
from omnigraph_l2._data.spill_file import Extent, SpillFile

__all__ = ["IdSet", "MemoryBound"]

_DEEPEST = 8
"""How often ids are dealt out again before those that stay together are held all the same."""
_SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False)])


@attrs.frozen
class MemoryBound:
    """How much may be held at once before it goes to disk."""

    ids: int = 262_144
    bytes: int = 16 * 1024 * 1024
    parts: int = attrs.field(default=256, kw_only=True)

    def holds(self, ids: int, size: int) -> bool:
        """Tell whether that many may be held."""
        return ids <= self.ids and size <= self.bytes


class IdSet:
    """Ids, as many as there are rows. It is closed when it is no longer used, at the latest."""

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
        """Tell whether there were too many ids for memory."""
        return self._file is not None

    def add(self, ids: pa.StringArray) -> None:
        """Collect some ids. None of them is null."""
        step = self._bound.ids
        for start in range(0, len(ids), step):
            part = _copied(ids.slice(start, step))
            self._count += len(part)
            self._held.append(part)
            self._held_ids += len(part)
            self._held_bytes += part.nbytes
            if not self._bound.holds(self._held_ids, self._held_bytes):
                self._spill()

    def repeated(self, limit: int) -> list[str]:
        """Give ids that were added more than once, each once, at most so many."""
        found: list[str] = []
        for counted in self._counted():
            if len(found) >= limit:
                break
            twice = counted.field("values").filter(pc.greater(counted.field("counts"), 1))
            found += twice.slice(0, limit - len(found)).to_pylist()
        return found

    def batches(self, max_ids: int) -> Iterator[pa.StringArray]:
        """Give each id once, at most so many at a time, in no particular order.

        A look-up may read a whole table for each: so there are as few as memory allows.
        """
        group: list[pa.StringArray] = []
        held = size = 0
        for counted in self._counted():
            values = counted.field("values")
            for start in range(0, len(values), max_ids):
                part = values.slice(start, max_ids)
                if held + len(part) > max_ids or size + part.nbytes > self._bound.bytes:
                    yield from _joined(group)
                    group, held, size = [], 0, 0
                group.append(part)
                held, size = held + len(part), size + part.nbytes
        yield from _joined(group)

    def close(self) -> None:
        """Forget all ids."""
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
        parts = parts_of(ids, self._bound.parts, self._level)
        order, where = by_part(parts, self._bound.parts)
        ids = ids.take(pa.array(order))
        for part, rows in where:
            batch = pa.record_batch([ids[rows]], schema=_SCHEMA)
            self._parts[part].append(self._file.append(batch.serialize()))

    def _counted(self) -> Iterator[pa.StructArray]:
        """Give all ids with how often each stands there, each id in one array only."""
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
                yield from self._dealt_again(file, extents)
                return
        if len(distinct):
            counts = pc.add(pc.is_in(distinct, twice).cast(pa.int64()), 1)
            yield pa.StructArray.from_arrays([distinct, counts], names=["values", "counts"])

    def _groups(self, file: SpillFile, extents: list[Extent]) -> Iterator[pa.StringArray]:
        """Read a part again, as much at a time as may be held."""
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

    def _dealt_again(self, file: SpillFile, extents: list[Extent]) -> Iterator[pa.StructArray]:
        deeper = IdSet(self._bound, directory=self._directory, level=self._level + 1)
        with deeper:
            for ids in self._groups(file, extents):
                deeper.add(ids)
            yield from deeper._counted()


def _joined(group: list[pa.StringArray]) -> Iterator[pa.StringArray]:
    if group:
        yield pa.concat_arrays(group)


def _copied(ids: pa.StringArray) -> pa.StringArray:
    """Copy ids, so that the batch they came in, with all its other columns, can go."""
    return pa.concat_arrays([ids, pa.array([], pa.string())])
