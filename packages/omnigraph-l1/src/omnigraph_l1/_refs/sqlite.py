"""Small documents in a SQLite file: for writers that share a disk, and a store without conditions.

Always: each change is one transaction of SQLite's, flushed before it is acknowledged; what it is
compared with is the token of the row, and no two documents ever have the same. A connection lives
for one call, so that threads and forked children need no care. All writers have one clock: they are
on one machine, as SQLite's locks want it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timezone
from typing import Any, Final

from omnigraph_l1._failpoints import declare, failpoint
from omnigraph_l1._places import SqliteFile
from omnigraph_l1._places.failures import storage_failure
from omnigraph_l1._refs.backend import Mismatch, Stored, Unsettled
from omnigraph_l1._ulid import new_ulid
from omnigraph_l1.errors import AccessDenied, StorageError, StorageFull, StoreUnavailable

__all__ = ["SqliteBackend"]

_PATIENCE: Final = 30.0
"""Seconds that a writer waits for the others; each of them needs milliseconds."""
_TABLE: Final = """
    CREATE TABLE IF NOT EXISTS omnigraph_documents (
        directory TEXT NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, token TEXT NOT NULL,
        written REAL NOT NULL, PRIMARY KEY (directory, name)
    ) WITHOUT ROWID
"""
_WHERE: Final = "FROM omnigraph_documents WHERE directory = ?"
# Python 3.10 does not tell the code of an error.
_ERRORS: Final = {
    "locked": StoreUnavailable,
    "disk I/O error": StoreUnavailable,
    "unable to open": StoreUnavailable,
    "readonly": AccessDenied,
    "is full": StorageFull,
}

_WRITTEN = declare("refs.sqlite.written", "The row is written, and not yet committed.")
_COMMITTED = declare("refs.sqlite.committed", "The row is committed, and not yet acknowledged.")


class SqliteBackend:
    """What stands under one directory in the file."""

    keeps_tombstones = False
    attempts = 3
    seconds = 10.0

    def __init__(self, file: SqliteFile, directory: str) -> None:
        self._file = file
        self._directory = directory

    def read(self, file_name: str) -> Stored | None:
        """Read a document."""
        query = f"SELECT data, token {_WHERE} AND name = ?"
        found = self._select(query, self._directory, file_name)
        return Stored(*found[0]) if found else None

    def write(self, file_name: str, data: bytes, expected: str | None) -> str:
        """Write a document where the condition holds."""
        token = new_ulid()
        if expected is None:
            change = "INSERT OR IGNORE INTO omnigraph_documents VALUES (?, ?, ?, ?, ?)"
            self._change(change, (self._directory, file_name, data, token, time.time()))
        else:
            change = (
                "UPDATE omnigraph_documents SET data = ?, token = ?, written = ? "
                "WHERE directory = ? AND name = ? AND token = ?"
            )
            values = (data, token, time.time(), self._directory, file_name, expected)
            self._change(change, values)
        return token

    def remove(self, file_name: str, expected: str) -> None:
        """Remove a document where the condition holds."""
        change = f"DELETE {_WHERE} AND name = ? AND token = ?"
        self._change(change, (self._directory, file_name, expected))

    def erase(self, file_name: str) -> None:
        """Remove a document whatever stands there."""
        with suppress(Mismatch):
            self._change(f"DELETE {_WHERE} AND name = ?", (self._directory, file_name))

    def marks(self) -> dict[str, str | None]:
        """Name the documents, with their tokens."""
        return dict(self._select(f"SELECT name, token {_WHERE}", self._directory))

    def ages(self) -> dict[str, datetime]:
        """Tell when each document was last written, by the clock of this machine."""
        query = f"SELECT name, written {_WHERE}"
        return {
            name: datetime.fromtimestamp(written, timezone.utc)
            for name, written in self._select(query, self._directory)
        }

    def names(self) -> list[str]:
        """Name everything directly in the directory."""
        return [str(name) for (name,) in self._select(f"SELECT name {_WHERE}", self._directory)]

    def first(self, suffix: str) -> str | None:
        """Name the document whose name comes first, of those that end so."""
        query = f"SELECT name {_WHERE} AND name LIKE ? ORDER BY name LIMIT 1"
        found = self._select(query, self._directory, f"%{suffix}")
        return str(found[0][0]) if found else None

    def probe(self) -> None:
        """Make the file where there is none, and find out whether it can be written to."""
        with self._opened("rwc") as connection:
            connection.execute(_TABLE)
            connection.execute("BEGIN IMMEDIATE")
            connection.rollback()

    def _select(self, query: str, *values: str) -> list[Any]:
        """Read; a file that is not there yet holds nothing, nor does one that is being made."""
        try:
            self._file.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise storage_failure(error, str(self._file)) from error
        with self._opened() as connection:
            try:
                return connection.execute(query, values).fetchall()
            except sqlite3.OperationalError as error:
                if str(error).startswith("no such table"):
                    return []
                raise

    def _change(self, change: str, values: tuple[object, ...]) -> None:
        with self._opened() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                done = connection.execute(change, values).rowcount
                failpoint(_WRITTEN)
            except BaseException:
                connection.rollback()
                raise
            try:
                connection.commit()
            except sqlite3.Error as error:
                raise Unsettled(self._failure(error)) from error
            if not done:
                raise Mismatch
        failpoint(_COMMITTED)

    @contextmanager
    def _opened(self, mode: str = "rw") -> Iterator[sqlite3.Connection]:
        uri = f"{self._file.path.as_uri()}?mode={mode}"
        try:
            with closing(
                sqlite3.connect(uri, uri=True, timeout=_PATIENCE, isolation_level=None)
            ) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                yield connection
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def _failure(self, error: sqlite3.Error) -> StorageError:
        text = str(error)
        made = next((kind for words, kind in _ERRORS.items() if words in text), StorageError)
        return made(place=str(self._file), detail=text)
