"""Faults on demand: stores that fail, processes that die, histories that must have an order.

Names are imported when they are first used: pytest imports this package in every run, and must not
pay for what no test asks for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from omnigraph_testing.errors import OmniGraphTestingError

if TYPE_CHECKING:
    from omnigraph_testing._crash._available import (
        tracing_problem,
    )
    from omnigraph_testing._crash._harness import (
        Crash,
        Crashed,
    )
    from omnigraph_testing._crash._kills import (
        AtFileOperation,
        AtMoment,
        AtPoint,
        AtRequest,
    )
    from omnigraph_testing._crash._mark import (
        mark,
    )
    from omnigraph_testing._crash._outcome import (
        Ending,
        LeftFile,
        Outcome,
    )
    from omnigraph_testing._disk._cuts import (
        PowerCut,
    )
    from omnigraph_testing._disk._models import (
        EXT4_LIKE_DISK,
        STRICT_DISK,
        DiskModel,
    )
    from omnigraph_testing._disk._trace import (
        PowerCuts,
        Trace,
    )
    from omnigraph_testing._faults._effects import (
        Answer,
        Bandwidth,
        CutReply,
        CutRequest,
        Delay,
        Effect,
        Hold,
        IgnoreConditions,
        Refuse,
        StaleListing,
        TruncateReply,
        TruncateRequest,
        Twice,
    )
    from omnigraph_testing._faults._engine import (
        Decision,
        Faults,
        Injected,
    )
    from omnigraph_testing._faults._hold import (
        Held,
    )
    from omnigraph_testing._faults._log import (
        Request,
    )
    from omnigraph_testing._faults._operation import (
        Operation,
    )
    from omnigraph_testing._faults._rule import (
        Rule,
    )
    from omnigraph_testing._gateway._faulty import (
        FaultyS3,
        start_faulty_s3,
    )
    from omnigraph_testing._servers._kinds import (
        ServerKind,
    )
    from omnigraph_testing._servers._start import (
        S3Server,
        start_s3,
    )
    from omnigraph_testing._servers._store import (
        S3Store,
    )
    from omnigraph_testing.errors import (
        Aborted,
        BudgetExceeded,
        CrashDeadline,
        GatewayFailed,
        InvalidHistory,
        InvalidOption,
        NeverKilled,
        NothingHeld,
        ServerUnavailable,
        TracingUnavailable,
        UnexpectedEnding,
        Untraceable,
        UnusableFunction,
        WorkerFailed,
    )

_HOMES = {
    "Aborted": "omnigraph_testing.errors",
    "Answer": "omnigraph_testing._faults._effects",
    "AtFileOperation": "omnigraph_testing._crash._kills",
    "AtMoment": "omnigraph_testing._crash._kills",
    "AtPoint": "omnigraph_testing._crash._kills",
    "AtRequest": "omnigraph_testing._crash._kills",
    "Bandwidth": "omnigraph_testing._faults._effects",
    "BudgetExceeded": "omnigraph_testing.errors",
    "Crash": "omnigraph_testing._crash._harness",
    "CrashDeadline": "omnigraph_testing.errors",
    "Crashed": "omnigraph_testing._crash._harness",
    "CutReply": "omnigraph_testing._faults._effects",
    "CutRequest": "omnigraph_testing._faults._effects",
    "Decision": "omnigraph_testing._faults._engine",
    "Delay": "omnigraph_testing._faults._effects",
    "DiskModel": "omnigraph_testing._disk._models",
    "EXT4_LIKE_DISK": "omnigraph_testing._disk._models",
    "Effect": "omnigraph_testing._faults._effects",
    "Ending": "omnigraph_testing._crash._outcome",
    "Faults": "omnigraph_testing._faults._engine",
    "FaultyS3": "omnigraph_testing._gateway._faulty",
    "GatewayFailed": "omnigraph_testing.errors",
    "Held": "omnigraph_testing._faults._hold",
    "Hold": "omnigraph_testing._faults._effects",
    "IgnoreConditions": "omnigraph_testing._faults._effects",
    "Injected": "omnigraph_testing._faults._engine",
    "InvalidHistory": "omnigraph_testing.errors",
    "InvalidOption": "omnigraph_testing.errors",
    "LeftFile": "omnigraph_testing._crash._outcome",
    "NeverKilled": "omnigraph_testing.errors",
    "NothingHeld": "omnigraph_testing.errors",
    "Operation": "omnigraph_testing._faults._operation",
    "Outcome": "omnigraph_testing._crash._outcome",
    "PowerCut": "omnigraph_testing._disk._cuts",
    "PowerCuts": "omnigraph_testing._disk._trace",
    "Refuse": "omnigraph_testing._faults._effects",
    "Request": "omnigraph_testing._faults._log",
    "Rule": "omnigraph_testing._faults._rule",
    "S3Server": "omnigraph_testing._servers._start",
    "S3Store": "omnigraph_testing._servers._store",
    "STRICT_DISK": "omnigraph_testing._disk._models",
    "ServerKind": "omnigraph_testing._servers._kinds",
    "ServerUnavailable": "omnigraph_testing.errors",
    "StaleListing": "omnigraph_testing._faults._effects",
    "Trace": "omnigraph_testing._disk._trace",
    "TracingUnavailable": "omnigraph_testing.errors",
    "TruncateReply": "omnigraph_testing._faults._effects",
    "TruncateRequest": "omnigraph_testing._faults._effects",
    "Twice": "omnigraph_testing._faults._effects",
    "UnexpectedEnding": "omnigraph_testing.errors",
    "Untraceable": "omnigraph_testing.errors",
    "UnusableFunction": "omnigraph_testing.errors",
    "WorkerFailed": "omnigraph_testing.errors",
    "mark": "omnigraph_testing._crash._mark",
    "start_faulty_s3": "omnigraph_testing._gateway._faulty",
    "start_s3": "omnigraph_testing._servers._start",
    "tracing_problem": "omnigraph_testing._crash._available",
}

__all__ = [
    "EXT4_LIKE_DISK",
    "STRICT_DISK",
    "Aborted",
    "Answer",
    "AtFileOperation",
    "AtMoment",
    "AtPoint",
    "AtRequest",
    "Bandwidth",
    "BudgetExceeded",
    "Crash",
    "CrashDeadline",
    "Crashed",
    "CutReply",
    "CutRequest",
    "Decision",
    "Delay",
    "DiskModel",
    "Effect",
    "Ending",
    "Faults",
    "FaultyS3",
    "GatewayFailed",
    "Held",
    "Hold",
    "IgnoreConditions",
    "Injected",
    "InvalidHistory",
    "InvalidOption",
    "LeftFile",
    "NeverKilled",
    "NothingHeld",
    "OmniGraphTestingError",
    "Operation",
    "Outcome",
    "PowerCut",
    "PowerCuts",
    "Refuse",
    "Request",
    "Rule",
    "S3Server",
    "S3Store",
    "ServerKind",
    "ServerUnavailable",
    "StaleListing",
    "Trace",
    "TracingUnavailable",
    "TruncateReply",
    "TruncateRequest",
    "Twice",
    "UnexpectedEnding",
    "Untraceable",
    "UnusableFunction",
    "WorkerFailed",
    "mark",
    "start_faulty_s3",
    "start_s3",
    "tracing_problem",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
