"""How the changes of a batch are dealt out to tasks. Pure.

Always: each part of a diff is read by one task. Small ones, of several commits, are read together.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs
from pyspark.sql.datasource import InputPartition

from omnigraph_l2 import DiffPart
from omnigraph_spark._streaming.columns import Stamp

__all__ = ["Changes", "Share", "dealt"]

_MOST_PARTS: Final = 64
"""Each part of a small commit opens a version of the table."""


@attrs.frozen
class Changes:
    """Some of what one commit changed."""

    stamp: Stamp
    part: DiffPart


@attrs.frozen
class Share(InputPartition):
    """What one task reads."""

    changes: tuple[Changes, ...]


def dealt(changes: Iterable[Changes], *, rows: int) -> list[Share]:
    """Deal changes out, about so many rows for each task at the most."""
    shares: list[Share] = []
    held: list[Changes] = []
    count = 0
    for each in changes:
        full = len(held) >= _MOST_PARTS or count + each.part.rows_at_most > rows
        if held and full:
            shares.append(Share(tuple(held)))
            held, count = [], 0
        held.append(each)
        count += each.part.rows_at_most
    if held:
        shares.append(Share(tuple(held)))
    return shares
