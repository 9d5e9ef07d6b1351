"""Marks and failpoints: lines that the traced process appends to its report, seen in order.

Invariant: a line is part of the trace at the very place where its write happened, and is no
operation on files. Lines that are neither a mark nor a point are left to those who wrote them.
"""

from __future__ import annotations

import json
import os

import attrs

from campaign.tracing.content_calls import content_of
from campaign.tracing.file_operations import Mark, Operation, Passed
from campaign.tracing.pending_call import Begun
from campaign.tracing.ptrace import Call
from campaign.tracing.tracee import held_file

__all__ = ["ReportReader", "operations_in"]


def operations_in(lines: bytes) -> list[Operation]:
    """Read complete lines of a report."""
    found: list[Operation] = []
    for line in lines.splitlines():
        entry = json.loads(line)
        if "mark" in entry:
            found.append(Mark(text=entry["mark"]))
        elif "point" in entry:
            found.append(Passed(point=entry["point"]))
    return found


@attrs.frozen
class ReportReader:
    """Recognises writes to the report at ``path``, a real path."""

    path: str

    def read(self, call: Call, name: str) -> Begun | None:
        """Look at a call. None: it is none of ours."""
        if name != "write":
            return None
        held = held_file(call.tid, call.arguments[0], self.path.__eq__)
        if held is None:
            return None
        handle, path = held
        start = os.fstat(handle).st_size

        def finish(result: int) -> list[Operation]:
            return operations_in(content_of(handle, start, result))

        return Begun("report", path=path, finish=finish, handle=handle)
