"""Rows that do not fit: counted, set aside in a file, and bounded.

Always: what is set aside stays there, also where the load fails for it. Without a file the first
ones are told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO

from attrs import frozen

from omnigraph_l2._cli.status import WRONG, Stopped, UsageError
from omnigraph_l2._cli.work.load.judging import Reject
from omnigraph_l2._cli.work.values import json_text

__all__ = ["Allowed", "Rejects", "TooManyRejects"]

_TOLD = 5


class TooManyRejects(Stopped):
    """More rows do not fit than may."""

    kind = "too_many_rejects"
    status = WRONG


@frozen
class Allowed:
    """How many rows may be rejected: a number, or a share of those that are read."""

    rows: int | None
    share: float = 0.0
    text: str = ""
    """A share as it was said."""

    @classmethod
    def of(cls, text: str) -> Allowed:
        """Read ``10`` or ``1%``."""
        given = text.strip()
        try:
            if given.endswith("%"):
                share = float(given[:-1]) / 100
                if 0 <= share <= 1:
                    return cls(None, share, given)
            elif int(given) >= 0:
                return cls(int(given))
        except ValueError:
            pass
        message = f"--max-rejects is a number from 0, or a share like 1%, found {text!r}"
        raise UsageError(message)

    def exceeded_by(self, rejected: int, read: int, *, at_end: bool) -> bool:
        """Tell whether it is too many; of a share, that is known at the end only."""
        if self.rows is not None:
            return rejected > self.rows
        return at_end and rejected > read * self.share

    def __str__(self) -> str:
        return f"{self.rows:,}" if self.rows is not None else self.text


class Rejects:
    """Takes rows that do not fit."""

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
                message = f"{self._path} is there already: name another file, or remove it"
                raise UsageError(message) from error
            except OSError as error:
                message = f"{self._path} cannot be written: {error.strerror}"
                raise UsageError(message) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None and self._path is not None:
            with suppress(OSError):  # what was told to be there was flushed before
                self._file.close()
            if not self.count:
                self._path.unlink()

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(sum(each.values()) for each in self.by_table.values())

    def add(self, table: str, file: str, reject: Reject, read: int) -> None:
        """Set one aside, or say that this is too many."""
        self.by_table.setdefault(table, Counter())[reject.reason] += 1
        where = f"{file}, {'line' if reject.line is not None else 'row'} {reject.number}"
        if len(self.first) < _TOLD:
            self.first.append(f"{where}: {reject.reason}: {reject.detail}")
        if self._file is not None:
            what = {"row": reject.row} if reject.line is None else {"line": reject.line}
            document = {
                "table": table, "file": file, "number": reject.number, "reason": reject.reason,
                "detail": reject.detail, **what,
            }  # fmt: skip
            with self._told():
                self._file.write(f"{json_text(document)}\n")
        self.check(read, at_end=False)

    def check(self, read: int, *, at_end: bool) -> None:
        """Raise where too many were set aside, or at the end one cannot be written."""
        if at_end and self._file is not None:
            with self._told():
                self._file.flush()
        if not self._allowed.exceeded_by(self.count, read, at_end=at_end):
            return
        told = "\n".join(f"  {each}" for each in self.first)
        where = (
            f"They are in {self._path}."
            if self._path is not None
            else "Say --rejects FILE to have them all."
        )
        message = (
            f"{self.count:,} of {read:,} rows do not fit, and {self._allowed} may. Nothing was "
            f"published. {where} Mend them, or say --max-rejects.\n{told}"
        )
        raise TooManyRejects(message)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            message = f"{self._path} cannot be written: {error.strerror}. Nothing was published."
            raise Stopped(message) from error
