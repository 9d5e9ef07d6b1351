"""Small batches are put together on their way to Lance."""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_l1 import Table
from omnigraph_l1.batch_groups import group_parts

_TEXTS = st.lists(st.text(max_size=20), max_size=8)
_SCHEMA = pa.schema([("number", pa.int64())])


@given(st.lists(_TEXTS, max_size=30), st.integers(1, 40), st.integers(1, 300))
def test_the_same_batches_in_few_groups(texts: list[list[str]], rows: int, size: int) -> None:
    """No batch is lost or moves, and no bound is passed but by a batch that came so."""
    batches = [pa.record_batch([pa.array(part, pa.string())], ["text"]) for part in texts]
    groups = list(group_parts(batches, rows=rows, size=size))
    flat = [batch for group in groups for batch in group]
    assert len(flat) == len(batches)
    assert all(one is other for one, other in zip(flat, batches, strict=True))
    for group in groups:
        fits = sum(map(len, group)) <= rows and sum(batch.nbytes for batch in group) <= size
        assert fits or len(group) == 1
    for one, other in itertools.pairwise(groups):
        together = [*one, other[0]]
        full = sum(map(len, one)) >= rows or sum(batch.nbytes for batch in one) >= size
        too_much = sum(map(len, together)) > rows or sum(b.nbytes for b in together) > size
        assert full or too_much, "two groups could have been one"


def test_a_stream_of_small_batches_is_written_as_it_is(tmp_path: Path) -> None:
    """A thousand batches of few rows, empty ones too: every row, in its order."""
    sizes = [number % 4 for number in range(1000)]
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    batches = [
        pa.record_batch([pa.array(range(start, start + size), pa.int64())], schema=_SCHEMA)
        for start, size in zip(starts, sizes, strict=True)
    ]
    stream = pa.RecordBatchReader.from_batches(_SCHEMA, iter(batches))
    table = Table.create(tmp_path / "t", _SCHEMA, durability="none").append(stream).table
    assert table.read()["number"].to_pylist() == list(range(sum(sizes)))
