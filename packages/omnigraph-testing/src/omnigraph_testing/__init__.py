"""Faults on demand: stores that fail, processes that die, histories that must have an order.

Names are imported when they are first used: pytest imports this package in every run, and must not
pay for what no test asks for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from omnigraph_testing.errors import OmniGraphTestingError

if TYPE_CHECKING:
    from omnigraph_testing._servers._kinds import ServerKind
    from omnigraph_testing._servers._start import S3Server, start_s3
    from omnigraph_testing._servers._store import S3Store
    from omnigraph_testing.errors import InvalidOption, ServerUnavailable

_HOMES = {
    "InvalidOption": "omnigraph_testing.errors",
    "S3Server": "omnigraph_testing._servers._start",
    "S3Store": "omnigraph_testing._servers._store",
    "ServerKind": "omnigraph_testing._servers._kinds",
    "ServerUnavailable": "omnigraph_testing.errors",
    "start_s3": "omnigraph_testing._servers._start",
}

__all__ = [
    "InvalidOption",
    "OmniGraphTestingError",
    "S3Server",
    "S3Store",
    "ServerKind",
    "ServerUnavailable",
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
