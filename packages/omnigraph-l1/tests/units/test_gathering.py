"""Small batches are put together on their way to Lance."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_l1._table.gathering import gathered

_TEXTS = st.lists(st.text(max_size=20), max_size=8)


@given(st.lists(_TEXTS, max_size=30), st.integers(1, 40), st.integers(1, 300))
def test_the_same_rows_in_few_batches(texts: list[list[str]], rows: int, size: int) -> None:
    """No row is lost or moves, and no bound is passed but by a batch that came so."""
    given_batches = [pa.record_batch([pa.array(part, pa.string())], ["text"]) for part in texts]
    found = list(gathered(given_batches, rows, size))
    assert [text for batch in found for text in batch["text"].to_pylist()] == [
        text for part in texts for text in part
    ]
    sizes = {(len(batch), batch.nbytes) for batch in given_batches}
    for batch in found:
        assert (len(batch), batch.nbytes) in sizes or (len(batch) <= rows and batch.nbytes <= size)
    assert len(found) <= len(texts)


def test_what_is_large_is_not_copied() -> None:
    """A batch that fills the bound by itself is passed on as it is."""
    batch = pa.record_batch([pa.array(range(100))], ["number"])
    first, second = gathered([batch, batch], 100)
    assert first is batch
    assert second is batch


def test_many_small_ones_become_one() -> None:
    """A thousand batches of ten rows are one for Lance."""
    batch = pa.record_batch([pa.array(range(10))], ["number"])
    (one,) = gathered([batch] * 1000)
    assert len(one) == 10_000
