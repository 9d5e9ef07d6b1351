"""What runs on executors: rows that come in batches are written to files that nobody sees yet.

Always: one short message for each task, whatever the number of rows. A task that is run again, or
twice at once, leaves files that no message names, and changes nothing. What is wrong with the data
is sent home as what it is: to run the task again would not help.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

import attrs
import pyarrow as pa

from omnigraph_l2 import (
    ChangeTarget,
    OmniGraphError,
    ReadTarget,
    Staged,
    StagedChange,
    WriteTarget,
)
from omnigraph_l2.errors import BadInput, InvalidData
from omnigraph_spark._errors.carrying import carrying
from omnigraph_spark.errors import OmniGraphSparkError

__all__ = [
    "ADDRESS",
    "ROWS_AT_ONCE",
    "Deleting",
    "Reading",
    "Task",
    "Upserting",
    "Writing",
    "unpacked",
]

ADDRESS: Final = "_rowaddr"
"""The column in which Lance tells where a row is."""
ROWS_AT_ONCE: Final = 65_536
_Batches = Iterable[pa.RecordBatch]
_MESSAGE: Final = "message"


@attrs.frozen
class Writing:
    """Writes new rows."""

    target: WriteTarget

    def __call__(self, rows: pa.RecordBatchReader) -> Staged:
        """Write them."""
        return self.target.write(rows)


@attrs.frozen
class Upserting:
    """Writes rows that replace others, or are new."""

    target: ChangeTarget

    def __call__(self, rows: pa.RecordBatchReader) -> StagedChange:
        """Write them."""
        return self.target.upsert(rows)


@attrs.frozen
class Deleting:
    """Deletes rows by their ids."""

    target: ChangeTarget

    def __call__(self, rows: pa.RecordBatchReader) -> StagedChange:
        """Mark them."""
        ids = (batch.select(["id"]) for batch in rows)
        wanted = pa.schema([rows.schema.field("id")])
        return self.target.delete(pa.RecordBatchReader.from_batches(wanted, ids))


@attrs.frozen
class Task:
    """One of these, as Spark calls it: batches in, one message out."""

    work: Callable[[pa.RecordBatchReader], Any]
    columns: pa.Schema
    """What batches have where there is none."""

    def __call__(self, batches: _Batches) -> Iterator[pa.RecordBatch]:
        """Give the message."""
        yield pa.record_batch([pa.array([self.packed(batches)], pa.binary())], names=[_MESSAGE])

    def packed(self, batches: _Batches) -> bytes:
        """Do the work; give what became of it."""
        with carrying():
            try:
                done: Any = self.work(_reader(batches, self.columns))
            except (BadInput, OmniGraphSparkError) as wrong:
                done = wrong
        return pickle.dumps(done)


@attrs.frozen
class Reading:
    """Reads a part of a table for each number that comes: those fragments that it names."""

    target: ReadTarget
    columns: tuple[str, ...]
    parts: tuple[tuple[int, ...], ...]

    def __call__(self, numbers: _Batches) -> Iterator[pa.RecordBatch]:
        """Read them."""
        with carrying():
            for batch in numbers:
                for number in batch.column(0).to_pylist():
                    yield from self._part(self.parts[number])

    def _part(self, fragments: Sequence[int]) -> Iterator[pa.RecordBatch]:
        reader = self.target.scan(list(self.columns), fragments=fragments, batch_size=ROWS_AT_ONCE)
        for batch in reader:
            kinds = [pa.int64() if name == ADDRESS else pa.string() for name in self.columns]
            columns = [column.cast(kind) for column, kind in zip(batch.columns, kinds, strict=True)]
            yield pa.record_batch(columns, names=list(self.columns))


def unpacked(messages: Iterable[bytes]) -> list[Any]:
    """Open messages; raise what tasks found wrong, of all of them at once."""
    found = [pickle.loads(each) for each in messages]  # noqa: S301 - our own tasks made them
    wrong = [each for each in found if isinstance(each, OmniGraphError)]
    if not wrong:
        return found
    data = [each for each in wrong if isinstance(each, InvalidData)]
    if not data:
        raise wrong[0]
    named = chain.from_iterable(each.problems for each in data)
    # A row's number counts in its task: to the user it says nothing.
    problems = tuple(dict.fromkeys(attrs.evolve(each, row=None) for each in named))
    raise InvalidData(table_key=data[0].table_key, problems=problems)


def _reader(batches: _Batches, columns: pa.Schema) -> pa.RecordBatchReader:
    rest = iter(batches)
    first = next(rest, None)
    if first is None:
        return pa.RecordBatchReader.from_batches(columns, ())
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], rest))
