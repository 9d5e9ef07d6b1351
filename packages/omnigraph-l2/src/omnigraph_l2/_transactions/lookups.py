"""Which of some values a column has: by its index where there is one, else by one scan.

Always: the answer is exact. It costs the look-ups or one pass over one column, not both.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph_l1 import Table

__all__ = ["missing", "present"]

_BY_INDEX = 2_000


def present(table: Table, column: str, values: pa.Array) -> pa.Array:
    """Give those of the values that the column has."""
    if len(values) <= _BY_INDEX:
        found = table.find(column, values.to_pylist(), columns=[column]).column(column)
        return pc.unique(found)
    parts = [
        pc.unique(batch.column(0).filter(pc.is_in(batch.column(0), value_set=values)))
        for batch in table.scan(columns=[column])
    ]
    return pc.unique(pa.chunked_array(parts, values.type))


def missing(table: Table, column: str, values: pa.Array) -> pa.Array:
    """Give those of the values that the column lacks."""
    found = present(table, column, values)
    return values.filter(pc.invert(pc.is_in(values, value_set=found)))
