"""A table of a snapshot that other processes read.

Invariant: a target can be pickled, contains no secret, and shows the same rows in every process.
Data that was cleaned up raises ``SnapshotExpired``; wrong rows are never returned. Each process
opens a table once, at the version that the target names.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import attrs
import pyarrow as pa

from omnigraph_l1 import Table
from omnigraph_l1.errors import DatasetNotFound, L1Error, StaleBranch, StaleDataset
from omnigraph_l1.errors import UnknownBranch as NoSuchBranch
from omnigraph_l1.errors import UnknownVersion as NoSuchVersion
from omnigraph_l2._errors.translating import translate_table_errors
from omnigraph_l2.errors import (
    Conflict,
    CorruptRepository,
    SnapshotExpired,
    StorageError,
    UnknownBranch,
)

__all__ = ["Fragment", "ReadTarget", "open_targets", "share_table"]

_HANDLES = 64
_GONE = (DatasetNotFound, NoSuchBranch, NoSuchVersion, StaleBranch, StaleDataset)


@attrs.frozen
class Fragment:
    """A part of a table, which can be read by itself."""

    number: int
    rows: int
    size_bytes: int
    """How large its files are, as far as the table knows."""


@attrs.frozen(kw_only=True)
class ReadTarget:
    """One table of a snapshot, for other processes. Get one from ``snapshot.share``."""

    table_key: str
    table_version: int
    count: int
    """How many rows there are."""
    schema: pa.Schema = attrs.field(repr=False)
    _handle: bytes = attrs.field(repr=False)

    def fragments(self) -> tuple[Fragment, ...]:
        """Name the parts of the table, in the order in which ``scan`` reads them."""
        with self._open_table() as table:
            files = table.fragment_files()
            return tuple(
                Fragment(number, rows, files[number].size_bytes)
                for number, rows in table.fragments().items()
            )

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: str | None = None,  # noqa: A002 - the name in the API contract
        *,
        fragments: Collection[int] | None = None,
        offset: int | None = None,
        limit: int | None = None,
        batch_size: int | None = None,
        with_row_id: bool = False,
        use_index: bool = True,
    ) -> pa.RecordBatchReader:
        """Read rows in batches: all of them, some fragments, or a range in their order.

        With ``batch_size`` all batches but the last have that many rows. ``use_index=False`` is
        for a filter that most rows pass.
        """
        with self._open_table() as table:
            reader = table.scan(
                columns,
                filter,
                fragments=fragments,
                offset=offset,
                limit=limit,
                batch_size=batch_size,
                full_batches=batch_size is not None,
                with_row_id=with_row_id,
                use_index=use_index,
            )
        return pa.RecordBatchReader.from_batches(reader.schema, self._read_on(reader))

    def matches_by_index(self, filter: str, most: int) -> Mapping[int, int] | None:  # noqa: A002
        """Count the rows of each fragment that match, where an index serves the filter.

        None where none does, or where more rows match than ``most``. Other fragments have none.
        """
        with self._open_table() as table:
            return table.matches_by_index(filter, most)

    def _read_on(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        while True:
            try:
                with self._expiring():
                    batch = reader.read_next_batch()
            except StopIteration:
                return
            yield batch

    @contextmanager
    def _open_table(self) -> Iterator[Table]:
        with self._expiring():
            yield _HANDLES_HERE.get(self._handle)

    @contextmanager
    def _expiring(self) -> Iterator[None]:
        try:
            with translate_table_errors(self.table_key):
                yield
        except (Conflict, CorruptRepository, StorageError, UnknownBranch) as error:
            if isinstance(error.__cause__, _GONE) or self._is_removed():
                raise SnapshotExpired(
                    table_key=self.table_key, table_version=self.table_version
                ) from error
            raise

    def _is_removed(self) -> bool:
        """Read what is in the store, without the caches of an open handle."""
        _HANDLES_HERE.forget(self._handle)
        try:
            pickle.loads(self._handle)  # noqa: S301 - this process, or one that it trusts, made it
        except _GONE:
            return True
        except L1Error:
            return False
        return False


def share_table(table: Table, *, table_key: str, count: int) -> ReadTarget:
    """Return what another process needs to read what this handle reads."""
    return ReadTarget(
        table_key=table_key,
        table_version=table.version,
        count=count,
        schema=table.schema,
        handle=pickle.dumps(table),
    )


@contextmanager
def open_targets(*targets: ReadTarget) -> Iterator[tuple[Table, ...]]:
    """Open the tables of targets and translate errors of removed data while they are read."""
    with ExitStack() as stack:
        yield tuple(stack.enter_context(each._open_table()) for each in targets)  # noqa: SLF001


class _Handles:
    """The tables that this process has opened; none of them serves a forked child."""

    def __init__(self) -> None:
        self._open: OrderedDict[tuple[int, bytes], Table] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, handle: bytes) -> Table:
        """Return the open handle of a table, or open it."""
        key = (os.getpid(), handle)
        with self._lock:
            table = self._open.get(key)
            if table is None:
                made: Table = pickle.loads(handle)  # noqa: S301 - see above
                table = self._open[key] = made
            self._open.move_to_end(key)
            while len(self._open) > _HANDLES:
                self._open.popitem(last=False)
        return table

    def forget(self, handle: bytes) -> None:
        """Drop the handle, so that the next read opens the table again."""
        with self._lock:
            self._open.pop((os.getpid(), handle), None)


_HANDLES_HERE = _Handles()
