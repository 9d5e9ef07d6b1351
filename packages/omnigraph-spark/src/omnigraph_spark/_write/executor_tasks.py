"""Tasks on executors: write batches of rows to files that are not visible yet.

Invariant: one short message per task, whatever the number of rows. A task that runs again, or twice
at the same time, leaves files that no message names. Errors in the data are returned as results,
because running the task again would not help.
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
from omnigraph_spark._convert.error_transport import transport_errors
from omnigraph_spark.errors import OmniGraphSparkError

__all__ = [
    "ADDRESS",
    "ROWS_AT_ONCE",
    "FragmentScan",
    "PartitionTask",
    "RowDelete",
    "RowInsert",
    "RowUpsert",
    "unpack_results",
]

ADDRESS: Final = "_rowaddr"
"""Lance's column with the address of a row."""
ROWS_AT_ONCE: Final = 65_536
_Batches = Iterable[pa.RecordBatch]
_MESSAGE: Final = "message"


@attrs.frozen
class RowInsert:
    """Writes new rows."""

    target: WriteTarget

    def __call__(self, rows: pa.RecordBatchReader) -> Staged:
        """Write them."""
        return self.target.write(rows)


@attrs.frozen
class RowUpsert:
    """Writes rows that replace others or are new."""

    target: ChangeTarget

    def __call__(self, rows: pa.RecordBatchReader) -> StagedChange:
        """Write them."""
        return self.target.upsert(rows)


@attrs.frozen
class RowDelete:
    """Deletes rows by id."""

    target: ChangeTarget

    def __call__(self, rows: pa.RecordBatchReader) -> StagedChange:
        """Mark them as deleted."""
        ids = (batch.select(["id"]) for batch in rows)
        wanted = pa.schema([rows.schema.field("id")])
        return self.target.delete(pa.RecordBatchReader.from_batches(wanted, ids))


@attrs.frozen
class PartitionTask:
    """A function for ``mapInArrow``: batches in, one message out."""

    work: Callable[[pa.RecordBatchReader], Any]
    columns: pa.Schema
    """The columns, used if there is no batch."""

    def __call__(self, batches: _Batches) -> Iterator[pa.RecordBatch]:
        """Yield the message."""
        yield pa.record_batch(
            [pa.array([self.pack_result(batches)], pa.binary())], names=[_MESSAGE]
        )

    def pack_result(self, batches: _Batches) -> bytes:
        """Run the task; return its pickled result."""
        with transport_errors():
            try:
                done: Any = self.work(_batch_reader(batches, self.columns))
            except (BadInput, OmniGraphSparkError) as wrong:
                done = wrong
        return pickle.dumps(done)


@attrs.frozen
class FragmentScan:
    """Reads fragments of a table: for each number that comes, those of that part."""

    target: ReadTarget
    columns: tuple[str, ...]
    parts: tuple[tuple[int, ...], ...]

    def __call__(self, numbers: _Batches) -> Iterator[pa.RecordBatch]:
        """Read them."""
        with transport_errors():
            for batch in numbers:
                for number in batch.column(0).to_pylist():
                    yield from self._part(self.parts[number])

    def _part(self, fragments: Sequence[int]) -> Iterator[pa.RecordBatch]:
        reader = self.target.scan(list(self.columns), fragments=fragments, batch_size=ROWS_AT_ONCE)
        for batch in reader:
            kinds = [pa.int64() if name == ADDRESS else pa.string() for name in self.columns]
            columns = [column.cast(kind) for column, kind in zip(batch.columns, kinds, strict=True)]
            yield pa.record_batch(columns, names=list(self.columns))


def unpack_results(messages: Iterable[bytes]) -> list[Any]:
    """Unpickle messages; raise the errors of all tasks as one."""
    found = [pickle.loads(each) for each in messages]  # noqa: S301 - our own tasks made them
    wrong = [each for each in found if isinstance(each, OmniGraphError)]
    if not wrong:
        return found
    data = [each for each in wrong if isinstance(each, InvalidData)]
    if not data:
        raise wrong[0]
    named = chain.from_iterable(each.problems for each in data)
    # Row numbers count within a task, so they are of no use to the user.
    problems = tuple(dict.fromkeys(attrs.evolve(each, row=None) for each in named))
    raise InvalidData(table_key=data[0].table_key, problems=problems)


def _batch_reader(batches: _Batches, columns: pa.Schema) -> pa.RecordBatchReader:
    rest = iter(batches)
    first = next(rest, None)
    if first is None:
        return pa.RecordBatchReader.from_batches(columns, ())
    return pa.RecordBatchReader.from_batches(first.schema, chain([first], rest))
