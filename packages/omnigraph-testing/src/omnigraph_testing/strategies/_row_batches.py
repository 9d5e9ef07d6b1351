"""Rows for any schema: nulls, all of Unicode, the ends of every number, and no rows at all.

Invariant: what is drawn fits the schema exactly, not-null fields included; with ``unique_ids`` no
two rows of one draw share an id.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from omnigraph_testing._extras import needs_graph
from omnigraph_testing.strategies._property_values import ids, values

__all__ = ["batches", "tables"]


@st.composite
def batches(
    draw: DrawFn,
    schema: Any,
    *,
    min_rows: int = 0,
    max_rows: int = 10,
    unique_ids: bool = True,
    beyond_python: bool = False,
) -> Any:
    """Draw a ``pyarrow.RecordBatch`` for a schema, or for a strategy of schemas."""
    chosen = draw(schema) if isinstance(schema, SearchStrategy) else schema
    return _batch(draw, chosen, (min_rows, max_rows), unique_ids=unique_ids, beyond=beyond_python)


@st.composite
def tables(
    draw: DrawFn,
    schema: Any,
    *,
    min_rows: int = 0,
    max_rows: int = 10,
    unique_ids: bool = True,
    beyond_python: bool = False,
) -> Any:
    """Draw a ``pyarrow.Table``: the rows come in one or more chunks, some of them empty."""
    with needs_graph("omnigraph_testing.strategies"):
        import pyarrow as pa  # noqa: PLC0415 - some strategies work without it

    chosen = draw(schema) if isinstance(schema, SearchStrategy) else schema
    whole = _batch(draw, chosen, (min_rows, max_rows), unique_ids=unique_ids, beyond=beyond_python)
    cuts = draw(st.lists(st.integers(0, len(whole)), max_size=2).map(sorted))
    bounds = [0, *cuts, len(whole)]
    parts = [whole.slice(start, end - start) for start, end in pairwise(bounds)]
    return pa.Table.from_batches(parts, schema=chosen)


def _batch(
    draw: DrawFn, schema: Any, rows: tuple[int, int], *, unique_ids: bool, beyond: bool
) -> Any:
    with needs_graph("omnigraph_testing.strategies"):
        import pyarrow as pa  # noqa: PLC0415 - some strategies work without it

    count = draw(st.integers(*rows))
    columns: list[Any] = []
    for field in schema:
        if field.name == "id" and unique_ids:
            cells: Sequence[Any] = draw(
                st.lists(ids(), min_size=count, max_size=count, unique=True)
            )
        else:
            cell = values(field.type, nullable=field.nullable, beyond_python=beyond)
            cells = draw(st.lists(cell, min_size=count, max_size=count))
        columns.append(pa.array(cells, type=field.type))
    return pa.record_batch(columns, schema=schema)
