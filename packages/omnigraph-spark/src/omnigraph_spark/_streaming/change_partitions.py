"""Partition the changes of a batch.

Invariant: each part of a diff is read by one task. Small parts of several commits are read
together.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs
from pyspark.sql.datasource import InputPartition

from omnigraph_l2 import DiffPart
from omnigraph_spark._streaming.change_columns import CommitStamp

__all__ = ["ChangePartition", "CommitPart", "group_parts"]

_MOST_PARTS: Final = 64
"""Limits how many versions of the table one task opens."""


@attrs.frozen
class CommitPart:
    """A part of the changes of one commit."""

    stamp: CommitStamp
    part: DiffPart


@attrs.frozen
class ChangePartition(InputPartition):
    """What one task reads."""

    changes: tuple[CommitPart, ...]


def group_parts(changes: Iterable[CommitPart], *, rows: int) -> list[ChangePartition]:
    """Group parts, with about this many rows per task at most."""
    partitions: list[ChangePartition] = []
    group: list[CommitPart] = []
    count = 0
    for each in changes:
        full = len(group) >= _MOST_PARTS or count + each.part.rows_at_most > rows
        if group and full:
            partitions.append(ChangePartition(tuple(group)))
            group, count = [], 0
        group.append(each)
        count += each.part.rows_at_most
    if group:
        partitions.append(ChangePartition(tuple(group)))
    return partitions
