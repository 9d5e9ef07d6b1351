"""Faults on demand: stores that fail, processes that die, histories that must have an order.

Names are imported when they are first used: pytest imports this package in every run, and must not
pay for what no test asks for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from omnigraph_testing.errors import OmniGraphTestingError

if TYPE_CHECKING:
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
        BudgetExceeded,
        InvalidOption,
        NothingHeld,
        ServerUnavailable,
    )

_HOMES = {
    "Answer": "omnigraph_testing._faults._effects",
    "Bandwidth": "omnigraph_testing._faults._effects",
    "BudgetExceeded": "omnigraph_testing.errors",
    "CutReply": "omnigraph_testing._faults._effects",
    "CutRequest": "omnigraph_testing._faults._effects",
    "Decision": "omnigraph_testing._faults._engine",
    "Delay": "omnigraph_testing._faults._effects",
    "Effect": "omnigraph_testing._faults._effects",
    "Faults": "omnigraph_testing._faults._engine",
    "Held": "omnigraph_testing._faults._hold",
    "Hold": "omnigraph_testing._faults._effects",
    "IgnoreConditions": "omnigraph_testing._faults._effects",
    "Injected": "omnigraph_testing._faults._engine",
    "InvalidOption": "omnigraph_testing.errors",
    "NothingHeld": "omnigraph_testing.errors",
    "Operation": "omnigraph_testing._faults._operation",
    "Refuse": "omnigraph_testing._faults._effects",
    "Request": "omnigraph_testing._faults._log",
    "Rule": "omnigraph_testing._faults._rule",
    "S3Server": "omnigraph_testing._servers._start",
    "S3Store": "omnigraph_testing._servers._store",
    "ServerKind": "omnigraph_testing._servers._kinds",
    "ServerUnavailable": "omnigraph_testing.errors",
    "StaleListing": "omnigraph_testing._faults._effects",
    "TruncateReply": "omnigraph_testing._faults._effects",
    "TruncateRequest": "omnigraph_testing._faults._effects",
    "Twice": "omnigraph_testing._faults._effects",
    "start_s3": "omnigraph_testing._servers._start",
}

__all__ = [
    "Answer",
    "Bandwidth",
    "BudgetExceeded",
    "CutReply",
    "CutRequest",
    "Decision",
    "Delay",
    "Effect",
    "Faults",
    "Held",
    "Hold",
    "IgnoreConditions",
    "Injected",
    "InvalidOption",
    "NothingHeld",
    "OmniGraphTestingError",
    "Operation",
    "Refuse",
    "Request",
    "Rule",
    "S3Server",
    "S3Store",
    "ServerKind",
    "ServerUnavailable",
    "StaleListing",
    "TruncateReply",
    "TruncateRequest",
    "Twice",
    "start_s3",
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
