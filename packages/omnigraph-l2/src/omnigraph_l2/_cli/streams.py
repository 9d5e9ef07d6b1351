"""The standard streams, as the program needs them.

Always: all three are there, also where the caller closed one. What goes to a file or a program is
UTF-8, whatever the locale; on a terminal, what its encoding lacks is spelled out.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO

__all__ = ["dropped", "prepared"]


def prepared() -> None:
    """Make the streams of this process fit."""
    # In this order each gets the number of the one that is missing.
    sys.stdin = sys.stdin or _nowhere("r")
    sys.stdout = sys.stdout or _nowhere("w")
    sys.stderr = sys.stderr or _nowhere("w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = None if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def dropped(stream: TextIO) -> None:
    """Let nothing more be written to a stream, also not when Python ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _nowhere(mode: str) -> TextIO:
    return open(os.devnull, mode, encoding="utf-8")  # type: ignore[return-value]  # noqa: PTH123
