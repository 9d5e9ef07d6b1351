"""The program on a terminal of its own."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping

__all__ = ["on_terminal"]

_PATIENCE = 120


def on_terminal(*typed: str, env: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Run it on a terminal of 80 columns; give the status and all that is shown."""
    ours, terminal = pty.openpty()
    around = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", "PAGER": "cat"}
    with subprocess.Popen(
        [sys.executable, "-m", "omnigraph_l2", *typed], stdin=terminal, stdout=terminal,
        stderr=terminal, env={**os.environ, **around, **(env or {})},
    ) as program:  # fmt: skip
        os.close(terminal)
        shown = b"".join(_read(ours))
        status = program.wait(_PATIENCE)
    os.close(ours)
    return status, shown.decode()


def _read(terminal: int) -> Iterator[bytes]:
    while select.select([terminal], [], [], _PATIENCE)[0]:
        try:
            part = os.read(terminal, 65_536)
        except OSError:
            return  # the other side is closed
        if not part:
            return
        yield part
