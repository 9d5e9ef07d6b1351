"""The files of a load, opened one after the other, with how far each was read."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from omnigraph_l2._cli.status import UsageError
from omnigraph_l2._cli.work.load.words import STDIN, FileWord

__all__ = ["opened", "size_of", "spooled"]


def size_of(words: Sequence[FileWord]) -> int | None:
    """Count the bytes of all; None where standard input is among them."""
    if any(word.name == STDIN for word in words):
        return None
    sizes = []
    for word in words:
        with opened(word) as file:
            sizes.append(file.seek(0, io.SEEK_END))
    return sum(sizes)


@contextmanager
def opened(word: FileWord) -> Iterator[io.BufferedReader]:
    """Open a file, or take standard input."""
    if word.name == STDIN:
        if word.format == "parquet":
            with spooled() as file:
                yield file
        else:
            yield sys.stdin.buffer  # type: ignore[misc]
        return
    try:
        file = word.path.open("rb")
    except OSError as error:
        message = f"{word.name} cannot be read: {error.strerror}"
        raise UsageError(message) from error
    with file:
        if not file.seekable():
            message = f"{word.name} is no plain file: send it to standard input, and say -"
            raise UsageError(message)
        yield file


@contextmanager
def spooled() -> Iterator[io.BufferedReader]:
    """Keep standard input on disk: Parquet is read from its end."""
    with tempfile.TemporaryFile() as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.seek(0)
        yield file  # type: ignore[misc]
