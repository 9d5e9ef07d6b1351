"""Where the program begins.

Always: without the extra ``cli`` it says in one sentence what to install, and ends with 2. Ctrl-C
ends it quietly from here on, also while it starts.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

__all__ = ["main"]

_NEEDED = ("cyclopts", "rich", *(("tomli",) if sys.version_info < (3, 11) else ()))
_WRONG = 2
_INTERRUPTED = 130


def main() -> int:
    """Run what was typed; give the exit status."""
    if any(find_spec(name) is None for name in _NEEDED):
        sys.stderr.write(
            "omnigraph: the command line is not installed: pip install 'omnigraph-l2[cli]'\n"
        )
        return _WRONG
    try:
        status = _run()
    except KeyboardInterrupt:  # it was interrupted while it started
        status = _INTERRUPTED
    if status == _INTERRUPTED:
        # A thread of Lance may still wait for input, and Python would wait for it, or abort.
        sys.stderr.flush()
        os._exit(status)
    return status


def _run() -> int:
    from omnigraph_l2._cli.program import run  # noqa: PLC0415 - it imports what may be missing
    from omnigraph_l2._cli.streams import prepared  # noqa: PLC0415

    prepared()
    return run(sys.argv[1:])
