"""Requests to a store, without those that go by the clock, of which no test knows the number."""

from __future__ import annotations

from collections.abc import Iterable

from omnigraph_testing import Request

__all__ = ["untimed"]

_TIMED = ("/_refs/leases/", "/_schema.", "/__schema_state.json", "/__schema_apply_lock__")
"""Leases, and every two seconds a look for what the original program leaves."""


def untimed(requests: Iterable[Request]) -> list[Request]:
    """Leave out what goes by the clock."""
    return [each for each in requests if not any(timed in each.key for timed in _TIMED)]
