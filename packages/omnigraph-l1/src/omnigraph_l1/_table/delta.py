"""What changed in a lineage between two of its versions, told by Lance's row versions.

Always: the cost follows the change, not the table. Rows that were deleted are known by their row
ids only: read them from the older version. It needs both versions, and stable row ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs
import pyarrow as pa

from omnigraph_l1._lance.failures import lance_border
from omnigraph_l1._table.arguments import checked_version
from omnigraph_l1._table.pinned import Pinned
from omnigraph_l1.errors import InvalidRequest

__all__ = ["Delta", "delta"]


@attrs.frozen(kw_only=True, repr=False)
class Delta:
    """The rows that were inserted, updated and deleted after ``begin``, up to ``end``."""

    begin: int
    end: int
    _pinned: Pinned

    def inserted(self) -> pa.RecordBatchReader:
        """Read the rows that are new, as they are at the end."""
        return self._stream(lambda found: found.get_inserted_rows())

    def updated(self) -> pa.RecordBatchReader:
        """Read the rows that were there before and changed, as they are at the end."""
        return self._stream(lambda found: found.get_updated_rows())

    def deleted_row_ids(self) -> pa.RecordBatchReader:
        """Read the row ids, in column ``_rowid``, of rows that are gone."""
        return self._stream(lambda found: found.get_deleted_row_ids())

    def _stream(self, choose: Callable[..., pa.RecordBatchReader]) -> pa.RecordBatchReader:
        pinned = self._pinned
        pinned.guard.check()
        with lance_border(pinned.place):
            reader = choose(pinned.dataset.delta(begin_version=self.begin, end_version=self.end))

        def batches() -> Iterator[pa.RecordBatch]:
            while True:
                try:
                    with lance_border(pinned.place):
                        batch = reader.read_next_batch()
                except StopIteration:
                    return
                yield batch

        return pa.RecordBatchReader.from_batches(reader.schema, batches())


def delta(pinned: Pinned, since: int) -> Delta:
    """Compare the pinned version with an older one of its lineage."""
    since = checked_version(since, place=pinned.place, branch=pinned.branch)
    if since > pinned.version:
        reason = f"version {since} does not come before version {pinned.version}"
        raise InvalidRequest(place=str(pinned.place), reason=reason)
    return Delta(begin=since, end=pinned.version, pinned=pinned)
