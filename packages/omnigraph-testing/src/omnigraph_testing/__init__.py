"""Faults on demand: stores that fail, processes that die, histories that must have an order.

Each name is imported when it is first used: pytest imports this package in every run.
"""

# ruff: noqa: I001 - one statement for each module, though "X as X" is what makes a name public

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if sys.platform not in {"linux", "darwin"} or sys.maxsize < 2**32 or sys.version_info < (3, 11):
    _message = "omnigraph-testing needs Linux or macOS and a 64-bit Python 3.11 or later"
    raise ImportError(_message)

if TYPE_CHECKING:
    from omnigraph_testing._crash.crash_runner import (
        Crash as Crash,
        Crashed as Crashed,
    )
    from omnigraph_testing._crash.kill_points import (
        AtMoment as AtMoment,
        AtPoint as AtPoint,
        AtRequest as AtRequest,
    )
    from omnigraph_testing._crash.process_outcome import (
        Ending as Ending,
        LeftFile as LeftFile,
        Outcome as Outcome,
    )
    from omnigraph_testing._crash.progress_mark import (
        mark as mark,
    )
    from omnigraph_testing._faults.fault_effects import (
        Answer as Answer,
        Bandwidth as Bandwidth,
        CutReply as CutReply,
        CutRequest as CutRequest,
        Delay as Delay,
        Effect as Effect,
        Hold as Hold,
        IgnoreConditions as IgnoreConditions,
        Refuse as Refuse,
        StaleListing as StaleListing,
        TruncateReply as TruncateReply,
        TruncateRequest as TruncateRequest,
        Twice as Twice,
    )
    from omnigraph_testing._faults.fault_engine import (
        Decision as Decision,
        Faults as Faults,
        Injected as Injected,
    )
    from omnigraph_testing._faults.fault_rule import (
        Rule as Rule,
    )
    from omnigraph_testing._faults.held_requests import (
        Held as Held,
    )
    from omnigraph_testing._faults.request_log import (
        Request as Request,
    )
    from omnigraph_testing._faults.store_operation import (
        Operation as Operation,
    )
    from omnigraph_testing._gateway.faulty_s3 import (
        FaultyS3 as FaultyS3,
        start_faulty_s3 as start_faulty_s3,
    )
    from omnigraph_testing._sample_graph import (
        sample_graph as sample_graph,
    )
    from omnigraph_testing._servers.dynamodb_table import (
        DynamoTable as DynamoTable,
    )
    from omnigraph_testing._servers.s3_server import (
        S3Server as S3Server,
        connect_s3 as connect_s3,
        start_s3 as start_s3,
    )
    from omnigraph_testing._servers.s3_store import (
        S3Store as S3Store,
    )
    from omnigraph_testing._servers.server_kinds import (
        ServerKind as ServerKind,
    )
    from omnigraph_testing._wrappers.faulty_store import (
        FaultyStore as FaultyStore,
    )
    from omnigraph_testing.errors import (
        Aborted as Aborted,
        BudgetExceeded as BudgetExceeded,
        CrashDeadline as CrashDeadline,
        EndlessPredicate as EndlessPredicate,
        GatewayFailed as GatewayFailed,
        InvalidHistory as InvalidHistory,
        InvalidOption as InvalidOption,
        MissingExtra as MissingExtra,
        NeverKilled as NeverKilled,
        NothingHeld as NothingHeld,
        OmniGraphTestingError as OmniGraphTestingError,
        ServerUnavailable as ServerUnavailable,
        UnexpectedEnding as UnexpectedEnding,
        UnusableFunction as UnusableFunction,
        WorkerFailed as WorkerFailed,
    )

_PUBLIC_NAMES = {
    "omnigraph_testing._crash.crash_runner": ["Crash", "Crashed"],
    "omnigraph_testing._crash.kill_points": ["AtMoment", "AtPoint", "AtRequest"],
    "omnigraph_testing._crash.process_outcome": ["Ending", "LeftFile", "Outcome"],
    "omnigraph_testing._crash.progress_mark": ["mark"],
    "omnigraph_testing._faults.fault_effects": [
        "Answer",
        "Bandwidth",
        "CutReply",
        "CutRequest",
        "Delay",
        "Effect",
        "Hold",
        "IgnoreConditions",
        "Refuse",
        "StaleListing",
        "TruncateReply",
        "TruncateRequest",
        "Twice",
    ],
    "omnigraph_testing._faults.fault_engine": ["Decision", "Faults", "Injected"],
    "omnigraph_testing._faults.fault_rule": ["Rule"],
    "omnigraph_testing._faults.held_requests": ["Held"],
    "omnigraph_testing._faults.request_log": ["Request"],
    "omnigraph_testing._faults.store_operation": ["Operation"],
    "omnigraph_testing._gateway.faulty_s3": ["FaultyS3", "start_faulty_s3"],
    "omnigraph_testing._sample_graph": ["sample_graph"],
    "omnigraph_testing._servers.dynamodb_table": ["DynamoTable"],
    "omnigraph_testing._servers.s3_server": ["S3Server", "connect_s3", "start_s3"],
    "omnigraph_testing._servers.s3_store": ["S3Store"],
    "omnigraph_testing._servers.server_kinds": ["ServerKind"],
    "omnigraph_testing._wrappers.faulty_store": ["FaultyStore"],
    "omnigraph_testing.errors": [
        "Aborted",
        "BudgetExceeded",
        "CrashDeadline",
        "EndlessPredicate",
        "GatewayFailed",
        "InvalidHistory",
        "InvalidOption",
        "MissingExtra",
        "NeverKilled",
        "NothingHeld",
        "OmniGraphTestingError",
        "ServerUnavailable",
        "UnexpectedEnding",
        "UnusableFunction",
        "WorkerFailed",
    ],
}
"""The names of each module. A test compares them with the imports above."""

_MODULE_OF = {name: module for module, names in _PUBLIC_NAMES.items() for name in names}

__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
