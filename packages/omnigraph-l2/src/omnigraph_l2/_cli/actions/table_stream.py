"""The rows of the files of one table, as a stream for a transaction.

Invariant: each row is read once, and is in the stream or among the rejects. An error of the stream
is kept, because the reader of the stream may replace it by its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

import pyarrow as pa

from omnigraph_l2 import Snapshot
from omnigraph_l2._cli.actions.load_progress import Advance
from omnigraph_l2._cli.actions.rejected_rows import Reject, Rejects, split_rejects
from omnigraph_l2._cli.formats.file_readers import Malformed, read_pieces
from omnigraph_l2._cli.formats.file_rows import Rows
from omnigraph_l2._cli.formats.input_files import STDIN, InputFile, open_file
from omnigraph_l2._cli.formats.json_to_arrow import holds_decimals
from omnigraph_l2.errors import DataProblem, InvalidData

__all__ = ["Counts", "TableStream"]


class Counts:
    """The rows and bytes that a load has read so far, over all tables."""

    def __init__(self) -> None:
        self.rows = 0
        self.bytes = 0


class TableStream:
    """The files of one table."""

    def __init__(
        self,
        key: str,
        words: Sequence[InputFile],
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
        """Return a reader. It reads the first rows at once, because they determine the columns."""
        batches = self._record_failure()
        first = next(batches, None)
        if first is None:
            wanted = self._wanted
            return pa.RecordBatchReader.from_batches(wanted, iter(()))
        return pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))

    def _record_failure(self) -> Iterator[pa.RecordBatch]:
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
            with open_file(word) as file:
                row = 0
                for piece in read_pieces(word, file, exact=exact):
                    if isinstance(piece, Malformed):
                        self._count(1)
                        self._reject(word, Reject(
                            reason="malformed", detail=piece.detail, number=piece.number,
                            line=piece.line,
                        ))  # fmt: skip
                        continue
                    self._check_columns(word, piece)
                    self._count(len(piece))
                    for found in split_rejects(piece, row + 1, self._fit):
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

    def _reject(self, word: InputFile, reject: Reject) -> None:
        self._rejects.add(self.key, word.name, reject, self._counts.rows)

    def _fit(self, rows: Rows) -> pa.RecordBatch:
        """Convert rows to the types of the table, with the same columns as those before."""
        batch = rows.batch(self.key, self._wanted, self._names)
        fitted = self._snapshot.fit_rows(self.key, batch, may_lack_nullable=self._is_upsert)
        whole = fitted.read_all().combine_chunks()
        return whole.to_batches()[0] if whole.num_rows else _empty(whole.schema)

    def _check_columns(self, word: InputFile, piece: Rows) -> None:
        """Check that all files have the same columns: an upsert keeps the others."""
        if piece.has_header:
            self._check_header(word, piece)
        if not self._is_upsert:
            return
        if self._names is None:
            self._names = tuple(name for name in self._wanted.names if name in piece.names)
        elif piece.has_header and set(piece.names) != set(self._names):
            listed = ", ".join(self._names)
            problem = DataProblem(
                "*",
                f"the columns of {word.name} are {', '.join(piece.names)}, those of earlier files "
                f"{listed}: in one upsert all files have the same columns",
            )
            raise InvalidData(table_key=self.key, problems=(problem,))

    def _check_header(self, word: InputFile, piece: Rows) -> None:
        known = ", ".join(self._wanted.names)
        problems = [
            DataProblem(
                name, f"is in {word.name}, but is no column of the table, which has {known}"
            )
            for name in piece.names
            if name not in self._wanted.names
        ]
        problems += [
            DataProblem(name, f"is {count} times in {word.name}: expected each column once")
            for name, count in Counter(piece.names).items()
            if count > 1
        ]
        if problems:
            raise InvalidData(table_key=self.key, problems=tuple(problems))


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)
