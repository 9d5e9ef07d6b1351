"""A temporary file of blocks, and a stream of batches that can be read repeatedly.

A ``SpillFile`` has blocks of bytes that are written once and read in any order, also by several
threads. A ``Spool`` keeps a stream in memory while it is small and on disk beyond that. Each reader
gets all batches in order from the first; a batch that no reader has requested yet is read from the
stream then, so that the first reader does not wait for the whole stream. An error of the stream is
raised for each reader at the same position.

Invariant: no file is left when the process ends, however it ends, because the file has no name. The
space is freed by ``close`` or when the object is no longer used. An error of the disk raises
``SpillFailed``.
"""

from __future__ import annotations

import errno
import os
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType

import attrs
import pyarrow as pa

from omnigraph_l2._rows.data_problems import SpillFailed

__all__ = ["Extent", "SpillFile", "Spool"]


@attrs.frozen
class Extent:
    """The position of a block."""

    start: int
    length: int


class SpillFile:
    """Blocks on disk, in the directory for temporary files by default."""

    def __init__(self, directory: str | None = None) -> None:
        self._directory = tempfile.gettempdir() if directory is None else directory
        self._size = 0
        with self._typed_failures():
            file = tempfile.TemporaryFile(dir=self._directory, buffering=0)  # noqa: SIM115
        self._file = file
        self._closing = weakref.finalize(self, file.close)

    @property
    def size(self) -> int:
        """The number of bytes written."""
        return self._size

    def append(self, block: pa.Buffer) -> Extent:
        """Write a block at the end."""
        extent = Extent(self._size, block.size)
        left = memoryview(block)
        with self._typed_failures():
            while left:
                written = os.pwrite(self._file.fileno(), left, self._size)
                self._size += written
                left = left[written:]
        return extent

    def read(self, extent: Extent) -> pa.Buffer:
        """Read a block."""
        parts, start, end = [], extent.start, extent.start + extent.length
        with self._typed_failures():
            while start < end:
                part = os.pread(self._file.fileno(), end - start, start)
                if not part:
                    raise OSError(errno.EIO, "the file is shorter than what was written to it")
                parts.append(part)
                start += len(part)
        return pa.py_buffer(parts[0] if len(parts) == 1 else b"".join(parts))

    def close(self) -> None:
        """Free the space on disk."""
        self._closing()

    @contextmanager
    def _typed_failures(self) -> Iterator[None]:
        try:
            yield
        except OSError as failure:
            raise SpillFailed(
                directory=self._directory,
                detail=failure.strerror or str(failure),
                full=failure.errno in (errno.ENOSPC, errno.EDQUOT),
            ) from failure


_IN_MEMORY = 32 * 1024 * 1024


class Spool:
    """The batches of a stream. It is closed at the latest when it is no longer used."""

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
        """Return whether the stream was too large for memory."""
        return self._file is not None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        position = 0
        while self._reaches(position):
            yield self._read(self._kept[position])
            position += 1

    def reader(self) -> pa.RecordBatchReader:
        """Return the whole stream from its start, any number of times."""
        return pa.RecordBatchReader.from_batches(self.schema, iter(self))

    def close(self) -> None:
        """Release everything. A reader that has not finished cannot continue."""
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
            self._kept = [self._write(self._file, kept) for kept in self._kept]
        self._kept.append(batch if self._file is None else self._write(self._file, batch))

    def _write(self, file: SpillFile, batch: pa.RecordBatch | Extent) -> Extent:
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
