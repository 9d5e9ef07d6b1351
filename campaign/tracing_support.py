"""Can file operations be followed on this machine? Found out by doing it once.

Invariant: the answer comes from a real run, not from a list of systems, because what is forbidden
differs from container to container. It is asked once in a process.
"""

from __future__ import annotations

import functools
import os
import platform
import sys
import tempfile
from pathlib import Path

from campaign.tracing.tracing_errors import TracingUnavailable
from omnigraph_testing._crash.crash_payload import pack_function
from omnigraph_testing._crash.run_dir import RunDir
from omnigraph_testing.errors import OmniGraphTestingError

__all__ = ["require_tracing", "tracing_problem"]

_SECONDS = 30.0


def require_tracing() -> None:
    """Raise ``TracingUnavailable``, with the reason, where file operations cannot be followed."""
    problem = tracing_problem()
    if problem is not None:
        raise TracingUnavailable(reason=problem)


@functools.lru_cache(maxsize=1)
def tracing_problem() -> str | None:
    """Say why file operations cannot be followed here. None: they can."""
    if sys.platform != "linux":
        return f"this is {sys.platform}, and the kernel interfaces used are Linux's"
    from campaign.tracing.syscall_filter import supported  # noqa: PLC0415 - Linux only

    if not supported():
        return f"the calls of the architecture {platform.machine()} are not known"
    with tempfile.TemporaryDirectory(prefix="omnigraph-probe-") as scratch:
        return _try_it(Path(scratch))


def _try_it(scratch: Path) -> str | None:
    from campaign.traced_run import record_run  # noqa: PLC0415 - Linux only

    root, shared = scratch / "root", scratch / "home"
    root.mkdir()
    shared.mkdir()
    run_dir = RunDir(shared, pack_function(os.mkdir, [str(root / "seen")], {}), None)
    try:
        outcome, trace = record_run(
            run_dir, root=root, deadline=_SECONDS, snapshot=scratch / "before"
        )
    except (OSError, OmniGraphTestingError) as error:
        return f"following a process failed ({error})"
    if not outcome.finished:
        return f"a process that is followed fails ({outcome.detail.strip()[-300:]})"
    if len(trace.file_operations) != 1:
        return "the kernel does not report the calls of a process that is followed"
    return None
