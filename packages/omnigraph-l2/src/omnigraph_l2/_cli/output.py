"""Where a command tells what it found: results on standard output, all else on standard error.

Always: what came from data is escaped before it is shown to a person. Colours and the pager are for
terminals only. With ``--json`` there is nothing but JSON: the result on standard output, and an
error on standard error, where only a terminal is told more.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

from rich.console import Console
from rich.text import Text

from omnigraph_l2._cli.escaping import escaped, escaped_lines
from omnigraph_l2._cli.plain import plain

__all__ = ["Output", "styled"]

_PAGER = "less -FRX"


def styled(*parts: str | tuple[str, str]) -> Text:
    """Put a line together from texts, and texts with a style. All of them are escaped."""
    made = Text()
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        made.append(escaped(text), style or None)
    return made


class Output:
    """What a command writes to."""

    def __init__(self, *, json: bool = False, quiet: bool = False, pager: bool = True) -> None:
        self.json = json
        self._may_page = pager
        self._out = _console(sys.stdout)
        self._err = _console(sys.stderr)
        self.quiet = quiet or (json and not self._err.is_terminal)

    @property
    def is_terminal(self) -> bool:
        """Whether a person reads the results as they come."""
        return self._out.is_terminal

    @property
    def width(self) -> int | None:
        """How many columns a line may have; None for any number."""
        return self._out.width if self._out.is_terminal else None

    @property
    def progress(self) -> Console:
        """Where progress is drawn."""
        return self._err

    # Results.

    def document(self, value: Any) -> None:
        """Give a result as one JSON document, on one line."""
        self._raw(_dumped(value, ascii_only=self.is_terminal))

    def line(self, *parts: str | tuple[str, str] | Text) -> None:
        """Give a line of a result for a person."""
        made = Text()
        for part in parts:
            made.append_text(part if isinstance(part, Text) else styled(part))
        self._out.print(made)

    def text(self, value: object) -> None:
        """Give what says of itself what it is, in several lines."""
        self._out.print(Text(escaped_lines(str(value))))

    def columns(self, head: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
        """Give a table for a person: aligned, numbers to the right."""
        listed = [
            [each if isinstance(each, Text) else styled(each) for each in row] for row in rows
        ]
        heads = [styled((name, "bold")) for name in head]
        widths = [
            max(cell.cell_len for cell in column) for column in zip(heads, *listed, strict=True)
        ]
        right = [
            bool(listed) and all(_is_number(row[index].plain) for row in listed)
            for index in range(len(head))
        ]
        for row in (heads, *listed):
            self._out.print(_aligned(row, widths, right))

    def raw(self, text: str) -> None:
        """Give text for programs, as it is: who reads it on a terminal gets it escaped."""
        self._raw(escaped_lines(text) if self.is_terminal else text)

    @property
    def binary(self) -> IO[bytes]:
        """Standard output, for bytes."""
        return sys.stdout.buffer

    def flush(self) -> None:
        """Let what was given be read now: the command goes on for long."""
        self._out.file.flush()

    # All else.

    def tell(self, text: str) -> None:
        """Say what is going on."""
        if not self.quiet:
            self._err.print(Text(escaped_lines(text)))

    def warn(self, text: str) -> None:
        """Say what must be known, also by those who asked for quiet; a document has it already."""
        if not self.json:
            self._err.print(Text(escaped_lines(text)))

    @contextmanager
    def paged(self) -> Iterator[None]:
        """Show what is given inside in the pager of the user, where that is a person."""
        pager = _pager() if self._may_page and self.is_terminal else None
        if pager is None:
            yield
            return
        with pager:
            before = self._out
            self._out = Console(
                file=pager.stdin, force_terminal=True, width=before.width, no_color=before.no_color,
                highlight=False, markup=False, emoji=False, soft_wrap=True,
            )  # fmt: skip
            try:
                with suppress(BrokenPipeError):  # the person has seen enough
                    yield
                    if pager.stdin is not None:
                        pager.stdin.close()
            finally:
                self._out = before
                _wait(pager)

    def _raw(self, text: str) -> None:
        self._out.file.write(f"{text}\n")


def _console(file: IO[str]) -> Console:
    return Console(
        file=file, highlight=False, markup=False, emoji=False, soft_wrap=True,
        no_color=None if file.isatty() and os.environ.get("TERM") != "dumb" else True,
        force_terminal=None if file.isatty() else False,
    )  # fmt: skip


def _pager() -> subprocess.Popen[str] | None:
    """Start the pager of the user; none where it cannot be started, or the terminal is too dumb."""
    if os.environ.get("TERM") == "dumb":
        return None
    wanted = os.environ.get("OMNIGRAPH_PAGER", os.environ.get("PAGER", _PAGER))
    environ = {"LESS": "FRX", "LESSCHARSET": "utf-8", **os.environ}
    try:
        command = shlex.split(wanted)
        if not command or command == ["cat"]:
            return None
        return subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, encoding="utf-8", errors="backslashreplace", env=environ
        )
    except (OSError, ValueError):
        return None


def _wait(pager: subprocess.Popen[str]) -> None:
    """Let the person read on; Ctrl-C is for the pager."""
    while True:
        with suppress(KeyboardInterrupt, BrokenPipeError):
            if pager.stdin is not None and not pager.stdin.closed:
                pager.stdin.close()
            pager.wait()
            return


def _aligned(row: Sequence[Text], widths: Sequence[int], right: Sequence[bool]) -> Text:
    made = Text()
    for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
        gap = " " * (width - cell.cell_len)
        if right[index]:
            made.append(gap)
        made.append_text(cell)
        if index < len(widths) - 1:
            made.append(f"{'' if right[index] else gap}  ")
    return made


def _is_number(text: str) -> bool:
    return (
        bool(text)
        and (text == "-" or text[:1].isdigit())
        and not text[:1].isalpha()
        and ":" not in text
    )


def _dumped(value: Any, *, ascii_only: bool) -> str:
    return json.dumps(plain(value), ensure_ascii=ascii_only)
