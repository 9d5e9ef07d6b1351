"""A file for what does not fit in memory: blocks of bytes, written once, read in any order.

Always: nothing is left when the process ends, however it ends, for the file has no name; it is
gone when ``close`` is called or the object is no longer used. What the disk refuses comes out as
``SpillFailed``. What the bytes mean is not its business. May be read from several threads.
"""

from __future__ import annotations

import errno
import os
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import attrs
import pyarrow as pa

from omnigraph_l2._data.problems import SpillFailed

__all__ = ["Extent", "SpillFile"]


@attrs.frozen
class Extent:
    """Where a block is."""

    start: int
    length: int


class SpillFile:
    """Blocks on disk, in the directory for temporary files unless another one is given."""

    def __init__(self, directory: str | None = None) -> None:
        self._directory = tempfile.gettempdir() if directory is None else directory
        self._size = 0
        with self._typed_failures():
            file = tempfile.TemporaryFile(dir=self._directory, buffering=0)  # noqa: SIM115
        self._file = file
        self._closing = weakref.finalize(self, file.close)

    @property
    def size(self) -> int:
        """How many bytes were written."""
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
        """Give the room on disk back."""
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
