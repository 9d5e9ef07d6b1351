"""The entry point of the program.

Invariant: if the extra ``cli`` is not installed, one sentence says what to install and the exit
status is 2. Ctrl-C ends the program without a traceback, also during start-up.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

__all__ = ["main"]

_NEEDED = ("cyclopts", "rich")
_WRONG = 2
_INTERRUPTED = 130


def main() -> int:
    """Run the command line of this process and return its exit status."""
    if any(find_spec(name) is None for name in _NEEDED):
        sys.stderr.write(
            "omnigraph: the command line is not installed: pip install 'omnigraph-l2[cli]'\n"
        )
        return _WRONG
    try:
        status = _run()
    except KeyboardInterrupt:  # during start-up
        status = _INTERRUPTED
    if status == _INTERRUPTED:
        # A thread of Lance may still wait for input. Python would wait for the thread, or abort.
        sys.stderr.flush()
        os._exit(status)
    return status


def _run() -> int:
    # These import packages that may be missing.
    from omnigraph_l2._cli.command_runner import run  # noqa: PLC0415
    from omnigraph_l2._cli.terminal_output import prepare_streams  # noqa: PLC0415

    prepare_streams()
    return run(sys.argv[1:])
