"""The output of a command: results go to standard output, everything else to standard error.

Invariant: text from data is escaped before a person sees it. Escaped text has no control character,
no character that changes the direction of text, and no lone surrogate. Colours and the pager are
for terminals only. With ``--json`` the output is JSON only: the result on standard output and an
error on standard error; progress is shown only on a terminal.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any, TextIO

from rich.console import Console
from rich.text import Text

from omnigraph_l2._cli.json_document import plain

__all__ = ["Output", "discard_stream", "escape", "escape_lines", "prepare_streams", "style_line"]

_PAGER = "less -FRX"


def style_line(*parts: str | tuple[str, str]) -> Text:
    """Join texts, each plain or with a style, to a line. All of them are escaped."""
    made = Text()
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        made.append(escape(text), style or None)
    return made


class Output:
    """The streams that a command writes to."""

    def __init__(self, *, json: bool = False, quiet: bool = False, pager: bool = True) -> None:
        self.json = json
        self._may_page = pager
        self._out = _console(sys.stdout)
        self._err = _console(sys.stderr)
        self.quiet = quiet or (json and not self._err.is_terminal)

    @property
    def is_terminal(self) -> bool:
        """Whether standard output is a terminal."""
        return self._out.is_terminal

    @property
    def progress(self) -> Console:
        """The console for progress."""
        return self._err

    # Results.

    def document(self, value: Any) -> None:
        """Write a result as one JSON document on one line."""
        self._raw(_dump(value, ascii_only=self.is_terminal))

    def line(self, *parts: str | tuple[str, str] | Text) -> None:
        """Write a line of a result for a person."""
        made = Text()
        for part in parts:
            made.append_text(part if isinstance(part, Text) else style_line(part))
        self._out.print(made)

    def text(self, value: object) -> None:
        """Write the text of a value, which may have several lines."""
        self._out.print(Text(escape_lines(str(value))))

    def columns(self, head: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
        """Write an aligned table for a person, with numbers right-aligned."""
        listed = [
            [each if isinstance(each, Text) else style_line(each) for each in row] for row in rows
        ]
        heads = [style_line((name, "bold")) for name in head]
        widths = [
            max(cell.cell_len for cell in column) for column in zip(heads, *listed, strict=True)
        ]
        right = [
            bool(listed) and all(_is_number(row[index].plain) for row in listed)
            for index in range(len(head))
        ]
        for row in (heads, *listed):
            self._out.print(_align(row, widths, right))

    def raw(self, text: str) -> None:
        """Write text for programs unchanged; on a terminal it is escaped."""
        self._raw(escape_lines(text) if self.is_terminal else text)

    @property
    def binary(self) -> IO[bytes]:
        """Standard output as a binary stream."""
        return sys.stdout.buffer

    def flush(self) -> None:
        """Flush standard output."""
        self._out.file.flush()

    # Messages.

    def info(self, text: str) -> None:
        """Report progress, unless ``--quiet`` is set."""
        if not self.quiet:
            self._err.print(Text(escape_lines(text)))

    def warn(self, text: str) -> None:
        """Report a warning, also with ``--quiet``. With ``--json`` the document has it already."""
        if not self.json:
            self._err.print(Text(escape_lines(text)))

    @contextmanager
    def use_pager(self) -> Iterator[None]:
        """Show the output of the block in the pager of the user, if it goes to a terminal."""
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
                with suppress(BrokenPipeError):  # the user has left the pager
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
    """Start the pager of the user; None if it cannot be started or the terminal is dumb."""
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
    """Wait until the user leaves the pager. Ctrl-C is for the pager."""
    while True:
        with suppress(KeyboardInterrupt, BrokenPipeError):
            if pager.stdin is not None and not pager.stdin.closed:
                pager.stdin.close()
            pager.wait()
            return


def _align(row: Sequence[Text], widths: Sequence[int], right: Sequence[bool]) -> Text:
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


def _dump(value: Any, *, ascii_only: bool) -> str:
    return json.dumps(plain(value), ensure_ascii=ascii_only)


_BAD = (
    r"\x00-\x1f\x7f-\x9f"  # control characters, and those of eight bits
    r"\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff"  # direction, invisible
    r"\ud800-\udfff"
)
_UNSAFE = re.compile(f"[{_BAD}]")
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escape(text: str) -> str:
    """Escape the characters that a terminal would interpret, and line ends."""
    return _UNSAFE.sub(_escape_character, text)


def escape_lines(text: str) -> str:
    """Escape each line of a text."""
    return "\n".join(map(escape, text.split("\n")))


def _escape_character(match: re.Match[str]) -> str:
    found = match.group()
    code = ord(found)
    return _NAMED.get(found) or (f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}")  # noqa: PLR2004


def prepare_streams() -> None:
    """Prepare the standard streams of this process.

    A stream that the caller closed is opened on the null device. Output to a file or a pipe is
    UTF-8, whatever the locale; on a terminal, unsupported characters are escaped.
    """
    # In this order, each gets the file descriptor of the missing one.
    sys.stdin = sys.stdin or _null_stream("r")
    sys.stdout = sys.stdout or _null_stream("w")
    sys.stderr = sys.stderr or _null_stream("w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = None if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def discard_stream(stream: TextIO) -> None:
    """Discard everything written to a stream from now on, also at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def _null_stream(mode: str) -> TextIO:
    return open(os.devnull, mode, encoding="utf-8")  # type: ignore[return-value]  # noqa: PTH123
