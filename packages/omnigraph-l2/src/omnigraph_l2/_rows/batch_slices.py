"""Slice batches so that what is made of each piece stays within a bound of bytes.

Invariant: the pieces together are the batch, in order, and none is empty. The bound holds for rows
of similar size; a single row that is larger than the bound is a piece of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from omnigraph_l2._rows.cast_rules import is_text, is_variable_bytes

__all__ = ["MAX_BYTES", "Pace", "halve", "pieces"]

MAX_BYTES = 32 * 1024 * 1024
_DICTIONARY_ROWS = 4096


def pieces(batch: pa.RecordBatch, schema: pa.Schema, most: int) -> Iterator[pa.RecordBatch]:
    """Slice a batch before it is cast to a schema."""
    rows = len(batch)
    if not rows:
        return
    widest = max(
        batch.nbytes / rows,
        sum(_least_width(field.type) for field in schema),
        sum(_decoded_width(column) for column in batch.columns),
    )
    step = max(1, int(most / max(widest, 1)))
    if any(_holds_dictionary(field.type) for field in batch.schema):
        step = min(step, _DICTIONARY_ROWS)
    for start in range(0, rows, step):
        yield batch.slice(start, step)


def halve(batch: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
    """Slice a batch that became larger than expected."""
    if len(batch) < 2 or batch.nbytes <= most:  # noqa: PLR2004 - one row cannot be cut
        yield batch
        return
    middle = len(batch) // 2
    yield from halve(batch.slice(0, middle), most)
    yield from halve(batch.slice(middle), most)


class Pace:
    """The number of rows to take next, if their size is known only afterwards."""

    def __init__(self, most: int) -> None:
        self.rows = 16
        self._most = most

    def record(self, rows: int, size: int) -> None:
        """Record the size of the last rows. The next batch has at most four times as many."""
        fitting = int(self._most / 2 * rows / max(size, 1))
        self.rows = max(1, min(fitting, self.rows * 4, 65_536))


def _least_width(type_: pa.DataType) -> float:
    """Return how many bytes a value takes at least, even a null."""
    if types.is_fixed_size_list(type_):
        return float(type_.list_size * _least_width(type_.value_type))
    if types.is_struct(type_):
        return sum(_least_width(type_.field(index).type) for index in range(type_.num_fields))
    try:
        return float(type_.bit_width / 8)
    except ValueError:
        return 4.0  # an offset


def _decoded_width(column: pa.Array) -> float:
    """Return how many bytes an entry of a dictionary takes at most once it is written out."""
    if not types.is_dictionary(column.type) or not len(column.dictionary):
        return 0.0
    values = column.dictionary
    if is_text(values.type) or is_variable_bytes(values.type):
        if types.is_string_view(values.type) or types.is_binary_view(values.type):
            values = values.cast(pa.large_binary())
        return float(pc.max(pc.binary_length(values)).as_py() or 0)
    return _least_width(values.type)


def _holds_dictionary(type_: pa.DataType) -> bool:
    """Return whether a dictionary is inside a type, where its share of a row is not known."""
    inner = [type_.field(index).type for index in range(type_.num_fields)]
    return any(types.is_dictionary(part) or _holds_dictionary(part) for part in inner)
