"""``mark``: how a function under test says how far it has come.

Invariant: outside of the harness it does nothing. Within, the mark is in the report, and in a trace
at its very position among the file operations, before ``mark`` returns.
"""

from __future__ import annotations

import json
import os

__all__ = ["REPORT_VARIABLE", "mark"]

REPORT_VARIABLE = "OMNIGRAPH_CRASH_REPORT"


def mark(text: str) -> None:
    """Note that something has happened by now, such as "version 5 was acknowledged"."""
    report = os.environ.get(REPORT_VARIABLE)
    if report is None:
        return
    descriptor = os.open(report, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(descriptor, (json.dumps({"mark": text}) + "\n").encode())
    finally:
        os.close(descriptor)
