"""Telling a transaction that what it stands on was cleaned up from a repository that is damaged.

Always: only where the lease is gone under which the transaction began, is it that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

import pyarrow as pa

from omnigraph_l1.errors import L1Error
from omnigraph_l2._leases import Hold
from omnigraph_l2.errors import CorruptRepository, SnapshotExpired, StorageError

__all__ = ["held", "read_on"]


@contextmanager
def held(hold: Hold | None) -> Iterator[None]:
    """Raise ``LeaseLost`` where that is why something is not there, or not whole."""
    try:
        yield
    except (CorruptRepository, SnapshotExpired, StorageError):
        if hold is not None:
            with suppress(L1Error):  # where the store fails, it fails here too
                hold.check()
        raise


def read_on(
    reader: pa.RecordBatchReader, border: Callable[[], AbstractContextManager[None]]
) -> pa.RecordBatchReader:
    """Read on within a border."""

    def told() -> Iterator[pa.RecordBatch]:
        while True:
            try:
                with border():
                    batch = reader.read_next_batch()
            except StopIteration:
                return
            yield batch

    return pa.RecordBatchReader.from_batches(reader.schema, told())
