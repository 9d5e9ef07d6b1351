"""The rows of the files of one table, as a stream that a transaction takes.

Always: a row is read once, and is in the stream or among the rejects. What fails in the middle is
kept, because what reads the stream may tell it in words of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pyarrow as pa

from omnigraph_l2 import Snapshot
from omnigraph_l2._cli.work.load.files import opened
from omnigraph_l2._cli.work.load.judging import Reject, judged
from omnigraph_l2._cli.work.load.parsing import holds_decimals
from omnigraph_l2._cli.work.load.pieces import Malformed, pieces_of
from omnigraph_l2._cli.work.load.progress import Advance
from omnigraph_l2._cli.work.load.rejects import Rejects
from omnigraph_l2._cli.work.load.rows import Rows
from omnigraph_l2._cli.work.load.words import STDIN, FileWord
from omnigraph_l2.errors import DataProblem, InvalidData

__all__ = ["Counts", "TableStream"]


class Counts:
    """What all tables of a load have in common: how much was read."""

    def __init__(self) -> None:
        self.rows = 0
        self.bytes = 0


class TableStream:
    """The files of one table."""

    def __init__(
        self,
        key: str,
        words: Sequence[FileWord],
        snapshot: Snapshot,
        rejects: Rejects,
        *,
        is_upsert: bool,
        advance: Advance,
        counts: Counts,
    ) -> None:
        self.key = key
        self.read = 0
        self.loaded = 0
        self.failure: BaseException | None = None
        self._words = words
        self._snapshot = snapshot
        self._rejects = rejects
        self._is_upsert = is_upsert
        self._advance = advance
        self._counts = counts
        self._wanted = snapshot.schema[key].arrow_schema
        self._names: tuple[str, ...] | None = None

    def reader(self) -> pa.RecordBatchReader:
        """Begin to read. The columns are known once the first rows were."""
        batches = self._guarded()
        first = next(batches, None)
        if first is None:
            wanted = self._wanted
            return pa.RecordBatchReader.from_batches(wanted, iter(()))
        return pa.RecordBatchReader.from_batches(first.schema, _chained(first, batches))

    def _guarded(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._batches():
                self.loaded += len(batch)
                yield batch
        except GeneratorExit:
            raise
        except BaseException as error:
            self.failure = error
            raise

    def _batches(self) -> Iterator[pa.RecordBatch]:
        exact = any(holds_decimals(field.type) for field in self._wanted)
        before = self._counts.bytes
        for word in self._words:
            with opened(word) as file:
                row = 0
                for piece in pieces_of(word, file, exact=exact):
                    if isinstance(piece, Malformed):
                        self._count(1)
                        self._reject(word, Reject(
                            reason="malformed", detail=piece.detail, number=piece.number,
                            line=piece.line,
                        ))  # fmt: skip
                        continue
                    self._check_columns(word, piece)
                    self._count(len(piece))
                    for found in judged(piece, row + 1, self._fit):
                        if isinstance(found, Reject):
                            self._reject(word, found)
                        elif len(found):
                            yield found
                    row += len(piece)
                    if word.name != STDIN:
                        self._counts.bytes = before + file.tell()
                    self._advance(f"{self.key} {word.name}", self._counts.bytes, self._counts.rows)
                before = self._counts.bytes

    def _count(self, rows: int) -> None:
        self.read += rows
        self._counts.rows += rows

    def _reject(self, word: FileWord, reject: Reject) -> None:
        self._rejects.add(self.key, word.name, reject, self._counts.rows)

    def _fit(self, rows: Rows) -> pa.RecordBatch:
        """Give rows as the table takes them, with the columns of those before."""
        batch = rows.batch(self.key, self._wanted, self._names)
        fitted = self._snapshot.fitted(self.key, batch, may_lack_nullable=self._is_upsert)
        whole = fitted.read_all().combine_chunks()
        return whole.to_batches()[0] if whole.num_rows else _empty(whole.schema)

    def _check_columns(self, word: FileWord, piece: Rows) -> None:
        """In an upsert what is not given is kept: so all files have the same columns."""
        if piece.has_header:
            self._refuse_columns(word, piece)
        if not self._is_upsert:
            return
        if self._names is None:
            self._names = tuple(name for name in self._wanted.names if name in piece.names)
        elif piece.has_header and set(piece.names) != set(self._names):
            listed = ", ".join(self._names)
            problem = DataProblem(
                "*",
                f"the columns of {word.name} are {', '.join(piece.names)}, and those before it "
                f"{listed}: in one upsert all files have the same",
            )
            raise InvalidData(table_key=self.key, problems=(problem,))

    def _refuse_columns(self, word: FileWord, piece: Rows) -> None:
        known = ", ".join(self._wanted.names)
        problems = [
            DataProblem(name, f"is in {word.name}, and no column of the table, which has {known}")
            for name in piece.names
            if name not in self._wanted.names
        ]
        problems += [
            DataProblem(name, f"stands {count} times in {word.name}: give each column once")
            for name, count in Counter(piece.names).items()
            if count > 1
        ]
        if problems:
            raise InvalidData(table_key=self.key, problems=tuple(problems))


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def _chained(first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from others
