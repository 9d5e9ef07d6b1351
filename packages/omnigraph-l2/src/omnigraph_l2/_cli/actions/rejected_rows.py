"""Rows that do not fit their table: found, counted, limited and written to a file.

Invariant: each row is in a batch for the table, in order, or is rejected with a reason. The file of
rejected rows is kept also if the load fails. Without a file, the first ones are shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
from attrs import frozen

from omnigraph_l2._cli.exit_status import WRONG, Stopped, UsageError
from omnigraph_l2._cli.formats.arrow_to_json import json_text
from omnigraph_l2._cli.formats.file_rows import Rows
from omnigraph_l2.errors import InvalidData

__all__ = ["Allowed", "Reject", "Rejects", "TooManyRejects", "split_rejects"]

_SHOWN = 5


class TooManyRejects(Stopped):
    """More rows were rejected than allowed."""

    kind = "too_many_rejects"
    status = WRONG


@frozen
class Allowed:
    """How many rows may be rejected: a number, or a share of the rows read."""

    rows: int | None
    share: float = 0.0
    text: str = ""
    """The share as the user wrote it."""

    @classmethod
    def of(cls, text: str) -> Allowed:
        """Parse ``10`` or ``1%``."""
        limit = text.strip()
        try:
            if limit.endswith("%"):
                share = float(limit[:-1]) / 100
                if 0 <= share <= 1:
                    return cls(None, share, limit)
            elif int(limit) >= 0:
                return cls(int(limit))
        except ValueError:
            pass
        message = f"Invalid --max-rejects {text!r}: expected a number >= 0 or a share such as 1%"
        raise UsageError(message)

    def exceeded_by(self, rejected: int, read: int, *, at_end: bool) -> bool:
        """Return whether too many were rejected; a share is checked at the end only."""
        if self.rows is not None:
            return rejected > self.rows
        return at_end and rejected > read * self.share

    def __str__(self) -> str:
        return f"{self.rows:,}" if self.rows is not None else self.text


class Rejects:
    """The rejected rows of a load."""

    def __init__(self, path: Path | None, allowed: Allowed) -> None:
        self._path = path
        self._allowed = allowed
        self._file: IO[str] | None = None
        self.by_table: dict[str, Counter[str]] = {}
        self.first: list[str] = []

    def __enter__(self) -> Rejects:  # noqa: PYI034  # Self needs Python 3.11
        if self._path is not None:
            try:
                self._file = self._path.open("x", encoding="utf-8", errors="backslashreplace")
            except FileExistsError as error:
                message = f"{self._path} already exists. Use another file or remove it"
                raise UsageError(message) from error
            except OSError as error:
                message = f"Cannot write {self._path}: {error.strerror}"
                raise UsageError(message) from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None and self._path is not None:
            with suppress(OSError):  # everything reported was flushed before
                self._file.close()
            if not self.count:
                self._path.unlink()

    @property
    def count(self) -> int:
        """The number of rejected rows."""
        return sum(sum(each.values()) for each in self.by_table.values())

    def add(self, table: str, file: str, reject: Reject, read: int) -> None:
        """Record a rejected row; raise ``TooManyRejects`` if it exceeds the limit."""
        self.by_table.setdefault(table, Counter())[reject.reason] += 1
        where = f"{file}, {'line' if reject.line is not None else 'row'} {reject.number}"
        if len(self.first) < _SHOWN:
            self.first.append(f"{where}: {reject.reason}: {reject.detail}")
        if self._file is not None:
            what = {"row": reject.row} if reject.line is None else {"line": reject.line}
            document = {
                "table": table, "file": file, "number": reject.number, "reason": reject.reason,
                "detail": reject.detail, **what,
            }  # fmt: skip
            with self._report_write_errors():
                self._file.write(f"{json_text(document)}\n")
        self.check(read, at_end=False)

    def check(self, read: int, *, at_end: bool) -> None:
        """Raise ``TooManyRejects`` if the limit is exceeded; at the end, flush the file."""
        if at_end and self._file is not None:
            with self._report_write_errors():
                self._file.flush()
        if not self._allowed.exceeded_by(self.count, read, at_end=at_end):
            return
        listed = "\n".join(f"  {each}" for each in self.first)
        where = (
            f"They are in {self._path}."
            if self._path is not None
            else "Use --rejects FILE to get all of them."
        )
        message = (
            f"{self.count:,} of {read:,} rows were rejected, {self._allowed} allowed. Nothing was "
            f"published. {where} Correct them, or raise --max-rejects.\n{listed}"
        )
        raise TooManyRejects(message)

    @contextmanager
    def _report_write_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            message = f"Cannot write {self._path}: {error.strerror}. Nothing was published."
            raise Stopped(message) from error


_REASONS = {"id": "no_id", "src": "no_end", "dst": "no_end"}


@frozen(kw_only=True)
class Reject:
    """A rejected row, or line."""

    reason: str
    """As in omnigraph-spark: malformed, no_id, no_end, null, unfit."""
    detail: str
    number: int
    """The number of the row in its file, from 1; of the line, if it is malformed."""
    row: dict[str, Any] | None = None
    line: str | None = None


def split_rejects(
    rows: Rows, first: int, fit: Callable[[Rows], pa.RecordBatch]
) -> Iterator[pa.RecordBatch | Reject]:
    """Yield batches of rows that fit and the rejected ones, by bisection."""
    try:
        yield fit(rows)
    except InvalidData as error:
        if len(rows) == 1:
            yield _reject(rows, first, error)
            return
        half = len(rows) // 2
        yield from split_rejects(rows.cut(0, half), first, fit)
        yield from split_rejects(rows.cut(half, len(rows) - half), first + half, fit)


def _reject(rows: Rows, number: int, error: InvalidData) -> Reject:
    row = rows.as_json()[0]
    problem = error.problems[0]
    column = problem.column
    reason = _REASONS.get(column)
    if reason is None:
        reason = "null" if row.get(column) is None and column in row else "unfit"
    detail = "; ".join(f"{each.column!r} {each.problem}" for each in error.problems)
    return Reject(reason=reason, detail=detail, number=number, row=row)
