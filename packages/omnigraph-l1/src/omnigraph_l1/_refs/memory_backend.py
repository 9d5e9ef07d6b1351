"""Refs in memory, for tests: thread-safe, gone with the process, in no other process."""

from __future__ import annotations

import threading
from datetime import datetime, timezone

from omnigraph_l1._refs.ref_backend import ConditionFailed, Stored
from omnigraph_l1._refs.ref_document import digest

__all__ = ["MemoryBackend"]


class MemoryBackend:
    """A directory that is a dictionary."""

    keeps_tombstones = False
    attempts = 1
    seconds = 0.0

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._written: dict[str, datetime] = {}
        self._lock = threading.Lock()

    def read(self, file_name: str) -> Stored | None:
        """Return what stands under the name."""
        with self._lock:
            data = self._files.get(file_name)
        return None if data is None else Stored(data, digest(data))

    def write(self, file_name: str, data: bytes, expected: str | None) -> str:
        """Compare and set under the lock."""
        with self._lock:
            self._compare(file_name, expected)
            self._files[file_name] = data
            self._written[file_name] = datetime.now(timezone.utc)
        return digest(data)

    def remove(self, file_name: str, expected: str) -> None:
        """Compare and remove under the lock."""
        with self._lock:
            self._compare(file_name, expected)
            del self._files[file_name], self._written[file_name]

    def marks(self) -> dict[str, str | None]:
        """Return the names of all files."""
        with self._lock:
            return {name: digest(data) for name, data in self._files.items()}

    def ages(self) -> dict[str, datetime]:
        """Return when each file was last written."""
        with self._lock:
            return dict(self._written)

    def probe(self) -> None:
        """Memory is safe."""

    def _compare(self, file_name: str, expected: str | None) -> None:
        data = self._files.get(file_name)
        if (None if data is None else digest(data)) != expected:
            raise ConditionFailed
