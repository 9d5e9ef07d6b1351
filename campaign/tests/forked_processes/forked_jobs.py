"""What the processes of ``test_forked_processes`` run."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_testing import mark

__all__ = ["STEP", "fail", "is_preloaded", "report", "write"]

STEP = declare("campaign.forked.step", "half of the job is done")


def report() -> dict[str, Any]:
    """Return what a process finds, and leave a trace in each of its outputs."""
    sys.stdout.write("to stdout\n")
    sys.stderr.write("to stderr\n")
    mark("half")
    failpoint(STEP)
    return {
        "directory": str(Path.cwd()),
        "variable": os.environ.get("CAMPAIGN_VARIABLE"),
        "leads a group": os.getpgrp() == os.getpid(),
        "arguments": len(sys.argv),
    }


def fail() -> None:
    """Raise an error."""
    message = "as asked"
    raise ValueError(message)


def write(path: str) -> None:
    """Write a file in two steps."""
    with Path(path).open("wb", buffering=0) as file:
        file.write(b"one")
        failpoint(STEP)
        file.write(b"two")


def is_preloaded() -> bool:
    """Return whether Lance was there before anything of ours asked for it."""
    return "lance" in sys.modules
