"""A file that is there when all of it is, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from omnigraph_l2._cli.status import Stopped, UsageError

__all__ = ["whole_file"]


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a new file; where it does not come to its end, nothing is left of it."""
    try:
        if os.path.lexists(path):
            message = f"{path} is there already: name another file, or remove it"
            raise UsageError(message)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise UsageError(message) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        _umasked(name)
        os.link(name, path)  # unlike a rename, it writes over nothing
    except FileExistsError as error:
        message = f"{path} was made by somebody else meanwhile: name another file"
        raise UsageError(message) from error
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        message = f"{path} could not be written: {error.strerror}"
        raise Stopped(message) from error
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()


def _umasked(name: str) -> None:
    """Give it the rights that a new file has here."""
    mask = os.umask(0)
    os.umask(mask)
    Path(name).chmod(0o666 & ~mask)
