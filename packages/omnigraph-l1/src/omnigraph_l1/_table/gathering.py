"""Putting small batches together, since Lance takes longer for many small ones than for few.

Always: the same rows in the same order. What is held back is bounded, in rows and in bytes. A
batch that is large already is passed on as it is, and not copied. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

__all__ = ["gathered"]

_ROWS: Final = 131_072
_BYTES: Final = 16 * 1024 * 1024


def gathered(
    batches: Iterable[pa.RecordBatch], rows: int = _ROWS, size: int = _BYTES
) -> Iterator[pa.RecordBatch]:
    """Give batches with about so many rows, or bytes."""
    held: list[pa.RecordBatch] = []
    held_rows = held_size = 0
    for batch in batches:
        batch_size = batch.nbytes
        if held and (held_rows + len(batch) > rows or held_size + batch_size > size):
            yield from _together(held)
            held, held_rows, held_size = [], 0, 0
        held.append(batch)
        held_rows += len(batch)
        held_size += batch_size
    yield from _together(held)


def _together(held: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    if len(held) <= 1:
        return held
    batches: list[pa.RecordBatch] = pa.Table.from_batches(held).combine_chunks().to_batches()
    return batches
