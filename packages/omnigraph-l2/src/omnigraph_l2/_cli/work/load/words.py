"""What was typed after ``load`` or ``--from``: tables, and the files of each.

Always: a word that begins with ``node:`` or ``edge:`` names a table, and every other word a file of
the table before it. ``./node:x`` is a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from omnigraph_l2._cli.status import UsageError

__all__ = ["STDIN", "FileWord", "files_by_table", "formatted"]

STDIN = "/dev/stdin"
"""What ``-`` stands for."""
_FORMATS = {
    ".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "ndjson", ".csv": "csv", ".tsv": "csv",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


@frozen
class FileWord:
    """A file, and how it is to be read."""

    name: str
    format: str
    codec: str | None = None
    separator: str = ","

    @property
    def path(self) -> Path:
        """Where it is; not for standard input."""
        return Path(self.name)


def files_by_table(words: Sequence[str]) -> dict[str | None, list[str]]:
    """Put the files to their tables; those before any table are under None."""
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
        message = f"{empty[0]} has no files: say them after it"
        raise UsageError(message)
    if sum(files.count(STDIN) for files in found.values()) > 1:
        message = "standard input can be read once"
        raise UsageError(message)
    return found


def formatted(name: str, given: str | None) -> FileWord:
    """Tell how a file is to be read, by its name or by what was said."""
    suffixes = [each.lower() for each in Path(name).suffixes]
    codec = _CODECS.get(suffixes[-1]) if suffixes else None
    if codec is not None:
        suffixes.pop()
    last = suffixes[-1] if suffixes else ""
    format_ = given or _FORMATS.get(last)
    if format_ is None:
        known = ", ".join(_FORMATS)
        what = "standard input" if name == STDIN else name
        message = f"the name of {what} does not tell its format ({known}): say --format"
        raise UsageError(message)
    if format_ == "parquet" and codec is not None:
        message = f"{name}: Parquet is compressed inside; decompress the file first"
        raise UsageError(message)
    return FileWord(name, format_, codec, "\t" if last == ".tsv" else ",")
