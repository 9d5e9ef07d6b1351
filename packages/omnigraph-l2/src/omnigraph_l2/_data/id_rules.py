"""What an id may be: a string that is not empty and can be told apart everywhere.

Always: nulls and invalid UTF-8 were refused before, as in every column that may not be null.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l2._data.findings import Findings, Spot

__all__ = ["id_columns", "refuse_bad_ids"]

_EDGE = ("id", "src", "dst")


def id_columns(schema: pa.Schema) -> tuple[str, ...]:
    """Tell which columns hold ids: ``id``, and the ends of an edge, which stand right after it."""
    names = tuple(schema.names)
    return _EDGE if names[:3] == _EDGE else tuple(name for name in names if name == "id")


def refuse_bad_ids(
    batch: pa.RecordBatch, columns: Sequence[str], findings: Findings, first_row: int
) -> None:
    """Note each id that is empty or holds a NUL."""
    for name in columns:
        ids = batch.column(name)
        spot = Spot(name, findings, row_of=lambda index: first_row + index)
        spot.refuse_where(pc.equal(pc.binary_length(ids), 0), ids, "is an empty id")
        spot.refuse_where(pc.match_substring(ids, "\0"), ids, "the id {} holds a NUL")
