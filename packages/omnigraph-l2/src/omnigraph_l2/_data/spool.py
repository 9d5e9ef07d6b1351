"""A stream that can be read again: kept in memory while it is small, on disk beyond that.

Always: each reader gives every batch of the stream, in order, from the first; what no reader has
asked for yet is taken from the stream then, so that the first reader waits for nothing. What the
stream raises, each reader raises at that point, and none takes the stream for shorter than it was.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from types import TracebackType

import pyarrow as pa

from omnigraph_l2._data.spill_file import Extent, SpillFile

__all__ = ["Spool"]

_IN_MEMORY = 32 * 1024 * 1024


class Spool:
    """The batches of a stream. It is closed when it is no longer used, at the latest."""

    def __init__(
        self,
        schema: pa.Schema,
        batches: Iterable[pa.RecordBatch],
        *,
        in_memory: int = _IN_MEMORY,
        directory: str | None = None,
    ) -> None:
        self.schema = schema
        self.rows = 0
        self._source = iter(batches)
        self._kept: list[pa.RecordBatch | Extent] = []
        self._bytes = 0
        self._bound = in_memory
        self._directory = directory
        self._file: SpillFile | None = None
        self._complete = False
        self._failure: BaseException | None = None
        self._taking = threading.Lock()

    def __enter__(self) -> Spool:  # noqa: PYI034  # Self needs Python 3.11
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def on_disk(self) -> bool:
        """Tell whether the stream was too large for memory."""
        return self._file is not None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        position = 0
        while self._reaches(position):
            yield self._read(self._kept[position])
            position += 1

    def reader(self) -> pa.RecordBatchReader:
        """Give the whole stream from its start, any number of times."""
        return pa.RecordBatchReader.from_batches(self.schema, iter(self))

    def close(self) -> None:
        """Forget everything. A reader that is not done cannot go on."""
        with self._taking:
            self._kept.clear()
            self._complete = False
            self._failure = self._failure or RuntimeError("the spool was closed")
            if self._file is not None:
                self._file.close()

    def _reaches(self, position: int) -> bool:
        with self._taking:
            if position < len(self._kept):
                return True
            if self._failure is not None:
                raise self._failure
            if self._complete:
                return False
            try:
                batch = next(self._source, None)
                if batch is not None:
                    self._keep(batch)
            except BaseException as failure:
                self._failure = failure
                raise
            self._complete = batch is None
            return batch is not None

    def _keep(self, batch: pa.RecordBatch) -> None:
        self.rows += len(batch)
        self._bytes += batch.get_total_buffer_size()
        if self._file is None and self._bytes > self._bound:
            self._file = SpillFile(self._directory)
            self._kept = [self._written(self._file, kept) for kept in self._kept]
        self._kept.append(batch if self._file is None else self._written(self._file, batch))

    def _written(self, file: SpillFile, batch: pa.RecordBatch | Extent) -> Extent:
        if isinstance(batch, Extent):
            return batch
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.schema) as writer:
            writer.write_batch(batch)
        return file.append(sink.getvalue())

    def _read(self, kept: pa.RecordBatch | Extent) -> pa.RecordBatch:
        if not isinstance(kept, Extent) or self._file is None:
            return kept
        with pa.ipc.open_stream(self._file.read(kept)) as reader:
            return reader.read_next_batch()
