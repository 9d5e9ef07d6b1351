"""The strategy for histories: good ones, of every sort."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from omnigraph_testing.histories import Append, History, Outcome, Read, check
from omnigraph_testing.strategies import histories

SEARCH = settings(
    phases=[Phase.generate],
    max_examples=2_000,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def seen_unknown(history: History) -> bool:
    """Whether somebody saw an append whose outcome is unknown."""
    seen = {
        (op.key, element)
        for one in history.transactions
        for op in one.ops
        if isinstance(op, Read)
        for element in op.value or ()
    }
    return any(
        (op.key, op.element) in seen
        for one in history.transactions
        if one.outcome is Outcome.UNKNOWN
        for op in one.ops
        if isinstance(op, Append)
    )


WANTED = {
    "nothing": lambda history: not history.transactions,
    "failures": lambda history: history.count(Outcome.FAILED) > 1,
    "unknown and seen": seen_unknown,
    "overlapping": lambda history: any(
        one.invoked < other.invoked < (one.completed or 0)
        for one in history.transactions
        for other in history.transactions
    ),
}


@pytest.mark.parametrize("name", WANTED)
def test_every_sort_is_drawn(name: str) -> None:
    """Empty histories, failures, lost replies that took effect, and overlaps all turn up."""
    find(histories(), WANTED[name], settings=SEARCH)


@settings(SEARCH, max_examples=50)
@given(histories(keys=(("main", "t"),), outcomes=(Outcome.OK,), max_processes=1))
def test_bounds_are_kept(history: History) -> None:
    """Keys, outcomes and processes are those that were asked for, and the history is good."""
    assert {op.key for one in history.transactions for op in one.ops} <= {("main", "t")}
    assert history.count(Outcome.OK) == len(history) <= 12
    assert check(history).ok
