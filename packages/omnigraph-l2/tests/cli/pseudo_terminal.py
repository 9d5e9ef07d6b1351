"""The program with a pseudo-terminal as its output, in this process or in its own."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import pytest

__all__ = ["RunOnTerminal", "run_on_terminal", "start_on_terminal"]

_TIMEOUT = 120
_ENVIRON = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", "PAGER": "cat"}

RunOnTerminal: TypeAlias = Callable[..., tuple[int, str]]


def run_on_terminal(
    patch: pytest.MonkeyPatch,
    main: Callable[[], int],
    arguments: Sequence[str],
    encoding: str,
    environ: Mapping[str, str],
) -> tuple[int, str]:
    """Run the program in this process; return its status and what the terminal shows."""
    ours, terminal = pty.openpty()
    shown: list[bytes] = []
    reader = threading.Thread(target=lambda: shown.extend(_read(ours)))
    for name, value in {**_ENVIRON, **environ}.items():
        patch.setenv(name, value)
    patch.setattr(sys, "argv", ["omnigraph", *arguments])
    reader.start()
    with os.fdopen(terminal, "w", encoding=encoding) as stream:
        patch.setattr(sys, "stdout", stream)
        patch.setattr(sys, "stderr", stream)
        status = main()
    reader.join(_TIMEOUT)
    os.close(ours)
    return status, b"".join(shown).decode()


def start_on_terminal(*arguments: str, **environ: str) -> tuple[int, str]:
    """Run the program in its own process; return its status and what the terminal shows."""
    ours, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "omnigraph_l2", *arguments],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, **_ENVIRON, **environ},
    ) as program:
        os.close(terminal)
        shown = b"".join(_read(ours))
        status = program.wait(_TIMEOUT)
    os.close(ours)
    return status, shown.decode()


def _read(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            part = os.read(terminal, 65_536)
        except OSError:
            return  # the other side is closed
        if not part:
            return
        yield part
