"""What two versions of one dataset have in common, and what changed between them.

Invariant: it costs no request. Version numbers go on counting on a branch, so that up to its start
a number means one version for the branch and for the lineage that it started from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile

import attrs
import pyarrow as pa

from omnigraph_l1._dataset.argument_checks import parse_version
from omnigraph_l1._dataset.pinned_dataset import PinnedDataset
from omnigraph_l1._lance.lance_failures import translate_errors
from omnigraph_l1._storage.silence_watch import run_watched
from omnigraph_l1._text_encoding import decode_json
from omnigraph_l1.errors import InvalidRequest

__all__ = ["Delta", "common_version", "delta"]


def common_version(one: PinnedDataset, other: PinnedDataset) -> int | None:
    """Return the last version that two lineages share: None if all, 0 where none."""
    if one.location != other.location:
        return 0
    starts, others = _starts(one), _starts(other)
    if starts == others:
        return None
    shared = len(
        list(takewhile(lambda pair: pair[0] == pair[1], zip(starts, others, strict=False)))
    )
    return min(lineage[shared][0] for lineage in (starts, others) if len(lineage) > shared)


def _starts(pinned: PinnedDataset) -> list[tuple[int, str]]:
    """Return the versions at which a branch and those above it started, the first one first."""
    if pinned.branch_identity is None:
        return []
    return [(version, mark) for version, mark in decode_json(pinned.branch_identity)]


@attrs.frozen(kw_only=True, repr=False)
class Delta:
    """The rows that were inserted, updated and deleted after ``begin``, up to ``end``."""

    begin: int
    end: int
    _pinned: PinnedDataset

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
        with translate_errors(pinned.location):
            reader = run_watched(
                pinned.storage,
                lambda: choose(
                    pinned.dataset.delta(begin_version=self.begin, end_version=self.end)
                ),
            )

        def batches() -> Iterator[pa.RecordBatch]:
            while True:
                try:
                    with translate_errors(pinned.location):
                        batch = run_watched(pinned.storage, reader.read_next_batch)
                except StopIteration:
                    return
                yield batch

        return pa.RecordBatchReader.from_batches(reader.schema, batches())


def delta(pinned: PinnedDataset, since: int) -> Delta:
    """Compare the pinned version with an older one of its lineage."""
    since = parse_version(since, location=pinned.location, branch=pinned.branch)
    if since > pinned.version:
        reason = f"version {since} does not come before version {pinned.version}"
        raise InvalidRequest(location=str(pinned.location), reason=reason)
    return Delta(begin=since, end=pinned.version, pinned=pinned)
