"""The arguments of ``load`` and ``--from``: tables and the files of each.

An argument that begins with ``node:`` or ``edge:`` names a table, every other one a file of the
table before it. ``./node:x`` is a file.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from omnigraph_l2._cli.exit_status import UsageError

__all__ = [
    "STDIN",
    "InputFile",
    "group_files",
    "open_file",
    "parse_file_name",
    "spool_stdin",
    "total_size",
]

STDIN = "/dev/stdin"
"""What ``-`` is replaced by."""
_FORMATS = {
    ".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "ndjson", ".csv": "csv", ".tsv": "csv",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


@frozen
class InputFile:
    """A file and how to read it."""

    name: str
    format: str
    codec: str | None = None
    separator: str = ","

    @property
    def path(self) -> Path:
        """The path of the file; not for standard input."""
        return Path(self.name)


def group_files(words: Sequence[str]) -> dict[str | None, list[str]]:
    """Group the files by their tables; those before any table are under None."""
    found: dict[str | None, list[str]] = {}
    table: str | None = None
    for word in words:
        if word.startswith(("node:", "edge:")):
            table = word
            found.setdefault(table, [])
        else:
            found.setdefault(table, []).append(word)
    empty = [key for key, files in found.items() if not files]
    if empty:
        message = f"No files for {empty[0]}: expected them after it"
        raise UsageError(message)
    if sum(files.count(STDIN) for files in found.values()) > 1:
        message = "Standard input can be read only once"
        raise UsageError(message)
    return found


def parse_file_name(name: str, format_: str | None) -> InputFile:
    """Return how to read a file, by its format if specified, otherwise by its name."""
    suffixes = [each.lower() for each in Path(name).suffixes]
    codec = _CODECS.get(suffixes[-1]) if suffixes else None
    if codec is not None:
        suffixes.pop()
    last = suffixes[-1] if suffixes else ""
    format_ = format_ or _FORMATS.get(last)
    if format_ is None:
        known = ", ".join(_FORMATS)
        what = "standard input" if name == STDIN else name
        message = f"Unknown format of {what}: expected a name with {known}, or --format"
        raise UsageError(message)
    if format_ == "parquet" and codec is not None:
        message = f"{name}: Parquet has its own compression. Decompress the file first"
        raise UsageError(message)
    return InputFile(name, format_, codec, "\t" if last == ".tsv" else ",")


def total_size(words: Sequence[InputFile]) -> int | None:
    """Return the size of all files in bytes; None if standard input is one of them."""
    if any(word.name == STDIN for word in words):
        return None
    sizes = []
    for word in words:
        with open_file(word) as file:
            sizes.append(file.seek(0, io.SEEK_END))
    return sum(sizes)


@contextmanager
def open_file(word: InputFile) -> Iterator[io.BufferedReader]:
    """Open a file or standard input."""
    if word.name == STDIN:
        if word.format == "parquet":
            with spool_stdin() as file:
                yield file
        else:
            yield sys.stdin.buffer  # type: ignore[misc]
        return
    try:
        file = word.path.open("rb")
    except OSError as error:
        message = f"Cannot read {word.name}: {error.strerror}"
        raise UsageError(message) from error
    with file:
        if not file.seekable():
            message = f"{word.name} is not a regular file. Send it to standard input and use -"
            raise UsageError(message)
        yield file


@contextmanager
def spool_stdin() -> Iterator[io.BufferedReader]:
    """Copy standard input to disk: Parquet is read from its end."""
    with tempfile.TemporaryFile() as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.seek(0)
        yield file  # type: ignore[misc]
