"""``cat``: rows of a table, as a table for people or in a format for programs.

Invariant: rows are streamed, so memory does not grow with them. A file appears only when it is
complete, and no existing file is overwritten.
"""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen

from omnigraph_l2._cli.common_options import Job, Revision, check_limit
from omnigraph_l2._cli.exit_status import Stopped, UsageError
from omnigraph_l2._cli.formats.arrow_to_json import json_rows

__all__ = ["RowQuery", "cat", "create_whole_file"]

_BY_SUFFIX = {
    ".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "ndjson", ".csv": "csv",
    ".parquet": "parquet", ".txt": "table",
}  # fmt: skip
_SHOWN_ON_TERMINAL = 1000
_BATCH = 8192
_WIDEST = 60
_MOST = 2**63 - 1


@frozen(kw_only=True)
class RowQuery:
    """The rows to read."""

    table: str
    filter: str | None
    columns: str | None
    limit: int | None


def cat(
    job: Job, revision: Revision, query: RowQuery, format_: str | None, out: Path | None
) -> int:
    """Show rows, or write them to a file."""
    chosen = _format(job, format_, out)
    check_limit(query.limit)
    if chosen == "parquet" and out is None and job.out.is_terminal:
        message = "Cannot write Parquet to a terminal: use --out FILE or a pipe"
        raise UsageError(message)
    with job.open() as repo:
        snapshot = revision.snapshot(repo)
        columns = None if query.columns is None else _names(query.columns)
        reader = snapshot.scan(query.table, columns, query.filter, batch_size=_BATCH)
        batches = _limit_rows(reader, query.limit)
        if out is not None:
            with create_whole_file(out) as file:
                rows = _write(chosen, reader.schema, batches, file)
            if job.out.json:
                job.out.document({"file": out, "rows": rows})
            job.out.info(f"{rows:,} rows in {out}")
        elif chosen == "parquet":
            _write_parquet(reader.schema, batches, job.out.binary)
        elif chosen == "table":
            with job.out.use_pager():
                _table(job, reader.schema, batches)
        else:
            with job.out.use_pager():
                for text in _texts(chosen, reader.schema, batches):
                    job.out.raw(text)
    return 0


def _format(job: Job, format_: str | None, out: Path | None) -> str:
    if job.out.json and out is None:
        if format_ not in {None, "ndjson"}:
            message = f"Use either --json, which writes NDJSON, or --format {format_}"
            raise UsageError(message)
        return "ndjson"
    if format_ is not None:
        return format_
    if out is None:
        return "table" if job.out.is_terminal else "ndjson"
    found = _BY_SUFFIX.get(out.suffix.lower())
    if found is None:
        message = f"Unknown file name extension: {out}. Use --format"
        raise UsageError(message)
    return found


def _names(text: str) -> list[str]:
    names = [each.strip() for each in text.split(",") if each.strip()]
    if not names:
        message = "Invalid --columns: expected names, such as id,name"
        raise UsageError(message)
    return names


def _limit_rows(reader: Any, limit: int | None) -> Iterator[pa.RecordBatch]:
    left = None if limit is None else min(limit, _MOST)
    if left == 0:
        return
    for batch in reader:
        if left is None:
            yield batch
            continue
        yield batch.slice(0, left)
        left -= min(left, len(batch))
        if not left:
            return


def _write(
    chosen: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch], file: IO[bytes]
) -> int:
    if chosen == "parquet":
        return _write_parquet(schema, batches, file)
    rows = 0

    def count_rows() -> Iterator[pa.RecordBatch]:
        nonlocal rows
        for batch in batches:
            rows += len(batch)
            yield batch

    if chosen == "table":
        message = "Cannot write a table to a file: use csv, ndjson or parquet"
        raise UsageError(message)
    for each in _texts(chosen, schema, count_rows()):
        file.write(f"{each}\n".encode("utf-8", "surrogatepass"))
    return rows


def _write_parquet(schema: pa.Schema, batches: Iterator[pa.RecordBatch], file: IO[bytes]) -> int:
    rows = 0
    plain = pa.schema([field.remove_metadata() for field in schema])
    with pq.ParquetWriter(file, plain) as writer:
        for batch in batches:
            writer.write_batch(batch.cast(plain))
            rows += len(batch)
    return rows


def _texts(chosen: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[str]:
    """Yield the lines of NDJSON or CSV without line ends."""
    if chosen == "csv":
        yield _csv_line(schema.names)
    for batch in batches:
        for row in json_rows(batch):
            if chosen == "csv":
                yield _csv_line([_cell(value) for value in row.values()])
            else:
                yield json.dumps(row, ensure_ascii=False)


def _cell(value: Any) -> str:
    """Return a value as text. Null is empty text, as the CSV reader of ``load`` has it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    return value if isinstance(value, str) else repr(value)


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


def _table(job: Job, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
    rows: list[list[str]] = []
    more = False
    for batch in batches:
        for row in json_rows(batch):
            if len(rows) == _SHOWN_ON_TERMINAL:
                more = True
                break
            rows.append([_short(value) for value in row.values()])
        if more:
            break
    job.out.columns(schema.names, rows)
    if more:
        job.out.warn(
            f"Only the first {_SHOWN_ON_TERMINAL:,} rows are shown as a table. Use --limit, "
            "--filter or --format ndjson"
        )


def _short(value: Any) -> str:
    text = "-" if value is None else _cell(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


@contextmanager
def create_whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Create a file that appears when the block has ended; after an error nothing is left."""
    try:
        if os.path.lexists(path):
            message = f"{path} already exists. Use another file or remove it"
            raise UsageError(message)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        message = f"Cannot write {path}: {error.strerror}"
        raise UsageError(message) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        _apply_umask(name)
        os.link(name, path)  # unlike a rename, this never overwrites
    except FileExistsError as error:
        message = f"{path} was created concurrently. Use another file"
        raise UsageError(message) from error
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        message = f"Cannot write {path}: {error.strerror}"
        raise Stopped(message) from error
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()


def _apply_umask(name: str) -> None:
    """Set the permissions that a new file has under the current umask."""
    mask = os.umask(0)
    os.umask(mask)
    Path(name).chmod(0o666 & ~mask)
