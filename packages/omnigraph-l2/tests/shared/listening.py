"""The program, such that Ctrl-C reaches it wherever the tests are run."""

from __future__ import annotations

import sys

__all__ = ["LISTENING"]

_CODE = (
    "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "runpy.run_module('omnigraph_l2', run_name='__main__', alter_sys=True)"
)
LISTENING = (sys.executable, "-c", _CODE)
"""A test run that was started in the background ignores SIGINT, and its children would, too."""
