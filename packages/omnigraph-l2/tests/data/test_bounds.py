"""Memory does not grow with the data, whatever kind it is."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from row_input import incoming

NODE = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        ("n", pa.int32()),
        ("v", pa.list_(pa.float32(), 256)),
    ]
)
BOUND = 2**20
MOST_HELD = 8 * BOUND


def _streamed(rows: int, batch_rows: int) -> pa.RecordBatchReader:
    schema = pa.schema([("id", pa.large_string()), ("n", pa.float64())])

    def batches() -> Iterator[pa.RecordBatch]:
        for first in range(0, rows, batch_rows):
            numbers = pa.array(np.arange(first, first + batch_rows))
            columns = [numbers.cast(pa.large_string()), numbers.cast(pa.float64())]
            yield pa.record_batch(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _dictionary(rows: int) -> pa.Table:
    """Give few bytes that become many: each row says the same long word."""
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, "i1")), pa.array(["w" * 50_000]))
    return pa.table({"id": words})


def _nulls(rows: int) -> pa.Table:
    return pa.table({"id": pa.array(np.arange(rows)).cast(pa.string()), "v": pa.nulls(rows)})


def _one_array(rows: int) -> pa.Table:
    return pa.table({"id": pa.array(np.arange(rows)).cast(pa.string_view())})


@pytest.mark.parametrize(
    ("make", "rows"),
    [
        pytest.param(lambda: _streamed(2_000_000, 20_000), 2_000_000, id="a long stream"),
        pytest.param(lambda: _dictionary(5_000), 5_000, id="a dictionary of 50 kB"),
        pytest.param(lambda: _nulls(100_000), 100_000, id="nulls of no type, a kilobyte each"),
        pytest.param(lambda: _one_array(500_000), 500_000, id="one batch of views"),
    ],
)
def test_what_arrow_holds_stays_bounded(make: Callable[[], Any], rows: int) -> None:
    """Batches come one by one, none much larger than the bound, and are not held."""
    data = make()
    start, most, count = pa.total_allocated_bytes(), 0, 0
    for batch in incoming(data, NODE, what="node:P", max_batch_bytes=BOUND):
        count += len(batch)
        assert batch.nbytes <= BOUND
        most = max(most, pa.total_allocated_bytes() - start)
    assert count == rows
    assert most < MOST_HELD, most


def test_what_python_holds_stays_bounded() -> None:
    """Rows of a generator, each 10 kB, are taken few at a time."""

    def rows() -> Iterator[dict[str, Any]]:
        for number in range(10_000):
            yield {"id": f"{number:010000}"}

    tracemalloc.start()
    try:
        start, arrow = pa.total_allocated_bytes(), 0
        for batch in incoming(rows(), NODE, what="node:P", max_batch_bytes=BOUND):
            assert batch.nbytes <= BOUND
            arrow = max(arrow, pa.total_allocated_bytes() - start)
        _, python = tracemalloc.get_traced_memory()[0], tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert arrow < MOST_HELD, arrow
    assert python < MOST_HELD, python
