"""CSV, NDJSON and Parquet files as pieces of some thousand rows.

Invariant: memory does not grow with the file. A malformed line is reported, and reading continues.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from attrs import frozen

from omnigraph_l2._cli.exit_status import UsageError
from omnigraph_l2._cli.formats.file_rows import ArrowRows, JsonRows, Rows, TextRows
from omnigraph_l2._cli.formats.input_files import InputFile

__all__ = ["Malformed", "read_pieces"]

_ROWS = 8192
_BLOCK = 8 << 20
"""The size of a block of CSV, and the longest row."""


@frozen
class Malformed:
    """A line that cannot be read as a row."""

    number: int
    detail: str
    line: str


def read_pieces(
    word: InputFile, file: io.BufferedReader, *, exact: bool
) -> Iterator[Rows | Malformed]:
    """Read a file. With ``exact``, numbers of JSON keep all their digits."""
    if word.format == "parquet":
        yield from _parquet(word, file)
        return
    stream: Any = file
    if word.codec is not None:
        stream = pa.CompressedInputStream(pa.PythonFile(file, "r"), word.codec)
    try:
        if word.format == "csv":
            yield from _csv(word, stream)
        else:
            yield from _ndjson(stream, exact=exact)
    except (pa.ArrowException, OSError) as error:
        message = f"Cannot read {word.name} as {word.format}: {error}"
        if "straddling" in str(error):
            message = f"{word.name}: a row of CSV exceeds {_BLOCK >> 20} MiB. Use NDJSON"
        raise UsageError(message) from error


def _parquet(word: InputFile, file: io.BufferedReader) -> Iterator[Rows]:
    try:
        opened = pq.ParquetFile(file)
        for batch in opened.iter_batches(batch_size=_ROWS):
            batch.validate(full=True)  # Arrow does not check text when it reads
            yield ArrowRows(batch)
        if not opened.metadata.num_rows:
            yield ArrowRows(pa.RecordBatch.from_pylist([], opened.schema_arrow))
    except (pa.ArrowException, OSError) as error:
        message = f"Cannot read {word.name} as parquet: {error}"
        raise UsageError(message) from error


def _csv(word: InputFile, stream: Any) -> Iterator[Rows | Malformed]:
    malformed: list[Malformed] = []

    def skip(row: Any) -> str:
        detail = f"has {row.actual_columns} columns, expected {row.expected_columns}"
        malformed.append(Malformed(row.number or 0, detail, row.text))
        return "skip"

    buffered = io.BufferedReader(stream) if word.codec else stream
    names = _header(word, buffered)
    if _is_at_end(buffered):
        none = [pa.nulls(0, pa.string())] * len(names)
        yield TextRows(pa.RecordBatch.from_arrays(none, names=names))
        return
    checked = _QuoteCheck(word, buffered)
    reader = pa_csv.open_csv(
        pa.PythonFile(checked, "r"),
        pa_csv.ReadOptions(column_names=names, block_size=_BLOCK, use_threads=False),
        pa_csv.ParseOptions(
            delimiter=word.separator, newlines_in_values=True, invalid_row_handler=skip
        ),
        pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    for batch in reader:
        for start in range(0, len(batch), _ROWS):
            yield TextRows(batch.slice(start, _ROWS))
        yield from malformed
        malformed.clear()
    yield from malformed


def _header(word: InputFile, stream: Any) -> list[str]:
    """Read the first line: the names of the columns."""
    line = stream.readline()
    while line.count(b'"') % 2 and (more := stream.readline()):
        line += more
    if not line.strip():
        message = f"{word.name} is empty: expected a first line with the column names"
        raise UsageError(message)
    parsed = pa_csv.read_csv(
        pa.BufferReader(line.removeprefix(b"\xef\xbb\xbf") + b"\n"),
        parse_options=pa_csv.ParseOptions(delimiter=word.separator, newlines_in_values=True),
        read_options=pa_csv.ReadOptions(use_threads=False),
    )
    if parsed.num_rows:
        message = f"{word.name}: lines end in CR alone. Use LF or CR and LF"
        raise UsageError(message)
    return list(parsed.column_names)


def _is_at_end(stream: Any) -> bool:
    """Return whether only empty lines are left."""
    while (following := stream.peek(1)[:1]) in {b"\n", b"\r"}:
        stream.read(1)
    return not following


class _QuoteCheck:
    """A CSV stream that checks that quotes are balanced.

    A quoted value that is not closed would contain the rows after it.
    """

    closed = False

    def __init__(self, word: InputFile, stream: Any) -> None:
        self._word = word
        self._stream = stream
        self._quotes = 0

    def read(self, size: int = -1) -> bytes:
        """Read; raise ``UsageError`` at the end if a quote is unbalanced."""
        data: bytes = self._stream.read(size)
        self._quotes += data.count(b'"')
        if not data and self._quotes % 2:
            message = (
                f"{self._word.name}: unbalanced quote. Close each quoted value, and double a "
                'quote inside of one, as in "5"" pipe"'
            )
            raise UsageError(message)
        return data


def _ndjson(stream: Any, *, exact: bool) -> Iterator[Rows | Malformed]:
    decoder = json.JSONDecoder(
        parse_float=Decimal if exact else None, object_pairs_hook=_object, strict=True
    )
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)
    number = 0
    while lines := list(islice(buffered, _ROWS)):
        rows: list[dict[str, Any]] = []
        for line in lines:
            number += 1
            if not line.strip():
                continue
            found = _object_in(decoder, line, number)
            if isinstance(found, Malformed):
                yield found
            else:
                rows.append(found)
        if rows:
            yield JsonRows(rows)


def _object_in(decoder: json.JSONDecoder, line: bytes, number: int) -> dict[str, Any] | Malformed:
    try:
        found = decoder.decode(line.decode("utf-8-sig" if number == 1 else "utf-8").strip())
    except (ValueError, RecursionError) as error:
        text = line.decode("utf-8", "backslashreplace").rstrip("\r\n")
        return Malformed(number, f"is not valid JSON: {error}", text)
    if isinstance(found, dict):
        return found
    return Malformed(number, "is not a JSON object", line.decode().rstrip("\r\n"))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        message = "duplicate name in an object"
        raise ValueError(message)
    return found
