"""``cat``: rows of a table, as a table for people or in a format for programs.

Always: rows are read as they are written, so that memory does not grow with them. A file is there
when all of it is, or not at all; none is written over.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen

from omnigraph_l2._cli.options import Job, Moment, check_limit
from omnigraph_l2._cli.status import UsageError
from omnigraph_l2._cli.work.values import json_rows
from omnigraph_l2._cli.work.whole_file import whole_file

__all__ = ["Wanted", "cat"]

_BY_SUFFIX = {
    ".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "ndjson", ".csv": "csv",
    ".parquet": "parquet", ".txt": "table",
}  # fmt: skip
_SHOWN_ON_TERMINAL = 1000
_BATCH = 8192
_WIDEST = 60
_MOST = 2**63 - 1


@frozen(kw_only=True)
class Wanted:
    """Which rows."""

    table: str
    filter: str | None
    columns: str | None
    limit: int | None


def cat(job: Job, moment: Moment, wanted: Wanted, format_: str | None, out: Path | None) -> int:
    """Show rows, or write them to a file."""
    chosen = _format(job, format_, out)
    check_limit(wanted.limit)
    if chosen == "parquet" and out is None and job.out.is_terminal:
        message = "Parquet is nothing for a terminal: say --out FILE, or send it to a program"
        raise UsageError(message)
    with job.open() as repo:
        snapshot = moment.of(repo)
        columns = None if wanted.columns is None else _names(wanted.columns)
        reader = snapshot.scan(wanted.table, columns, wanted.filter, batch_size=_BATCH)
        batches = _limited(reader, wanted.limit)
        if out is not None:
            with whole_file(out) as file:
                rows = _write(chosen, reader.schema, batches, file)
            if job.out.json:
                job.out.document({"file": out, "rows": rows})
            job.out.tell(f"{rows:,} rows in {out}")
        elif chosen == "parquet":
            _write_parquet(reader.schema, batches, job.out.binary)
        elif chosen == "table":
            with job.out.paged():
                _table(job, reader.schema, batches)
        else:
            with job.out.paged():
                for text in _texts(chosen, reader.schema, batches):
                    job.out.raw(text)
    return 0


def _format(job: Job, format_: str | None, out: Path | None) -> str:
    if job.out.json and out is None:
        if format_ not in {None, "ndjson"}:
            message = f"--json gives NDJSON, and --format says {format_}"
            raise UsageError(message)
        return "ndjson"
    if format_ is not None:
        return format_
    if out is None:
        return "table" if job.out.is_terminal else "ndjson"
    found = _BY_SUFFIX.get(out.suffix.lower())
    if found is None:
        message = f"the name {out} does not tell its format: say --format"
        raise UsageError(message)
    return found


def _names(text: str) -> list[str]:
    names = [each.strip() for each in text.split(",") if each.strip()]
    if not names:
        message = "--columns names none: say some, as in id,name"
        raise UsageError(message)
    return names


def _limited(reader: Any, limit: int | None) -> Iterator[pa.RecordBatch]:
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

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal rows
        for batch in batches:
            rows += len(batch)
            yield batch

    if chosen == "table":
        text = "csv"
        message = f"a table is for people: write {text}, ndjson or parquet to a file"
        raise UsageError(message)
    for each in _texts(chosen, schema, counted()):
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
    """Give the lines of NDJSON or CSV, without their ends."""
    if chosen == "csv":
        yield _csv_line(schema.names)
    for batch in batches:
        for row in json_rows(batch):
            if chosen == "csv":
                yield _csv_line([_cell(value) for value in row.values()])
            else:
                yield json.dumps(row, ensure_ascii=False)


def _cell(value: Any) -> str:
    """Write a value as text: null is nothing, empty text is told from it by quotes in ``load``."""
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
            f"… and more: only the first {_SHOWN_ON_TERMINAL:,} rows are shown as a table. Say "
            "--limit, --filter, or --format ndjson"
        )


def _short(value: Any) -> str:
    text = "-" if value is None else _cell(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
