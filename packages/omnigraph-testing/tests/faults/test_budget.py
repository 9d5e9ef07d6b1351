"""Budgets and the longest chain of requests, on records made by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph_testing import BudgetExceeded, Operation, Request
from omnigraph_testing._faults.request_budget import Budget
from omnigraph_testing._faults.request_log import RequestLog, longest_chain

GET = Operation("GET", "k")


def requests(*spans: tuple[float, float]) -> list[Request]:
    """Return requests that lasted for these spans of time."""
    return [
        Request(number, GET, status=200, bytes_out=10, started=start, ended=end)
        for number, (start, end) in enumerate(spans, 1)
    ]


def test_requests_one_after_another_are_a_chain() -> None:
    """Three that follow each other are three round trips."""
    assert len(longest_chain(requests((0, 1), (1, 2), (3, 4)))) == 3


def test_requests_at_once_are_one_round_trip() -> None:
    """Three that overlap are one."""
    assert len(longest_chain(requests((0, 3), (1, 4), (2, 5)))) == 1


def test_a_long_request_beside_short_ones_does_not_hide_them() -> None:
    """The chain is the longest one, not the one that begins first."""
    assert len(longest_chain(requests((0, 10), (1, 2), (3, 4), (5, 6)))) == 3


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 5)), max_size=8))
def test_the_chain_is_as_long_as_trying_all_of_them_says(spans: list[tuple[int, int]]) -> None:
    """The answer equals that of a search through all subsets."""
    made = requests(*((start, start + length) for start, length in spans))

    def longest(after: float, rest: list[Request]) -> int:
        fits = [each for each in rest if each.started >= after]
        return max(
            (1 + longest(each.ended or 0, [r for r in fits if r is not each]) for each in fits),
            default=0,
        )

    assert len(longest_chain(made)) == longest(0, made)


def test_what_is_over_is_named_with_the_requests() -> None:
    """The error says each bound that broke, by how much, and every request."""
    made = requests((0, 1), (2, 3), (2, 4))
    with pytest.raises(BudgetExceeded) as caught:
        Budget(max_requests=2, max_sequential=1, max_bytes=29).check(made)
    assert caught.value.over == (
        "3 requests where 2 were allowed",
        "2 sequential requests where 1 were allowed",
        "30 bytes where 29 were allowed",
    )
    assert str(caught.value).count("GET k: 200") == 3
    assert isinstance(caught.value, AssertionError)


def test_what_fits_passes() -> None:
    """Bounds are inclusive; what is not bounded is not looked at."""
    made = requests((0, 1), (2, 3))
    Budget(max_requests=2, max_sequential=2, max_bytes=20).check(made)
    Budget().check(made)


def test_a_request_under_way_has_no_end_and_no_status() -> None:
    """The log shows what is under way, and replaces it by what came of it."""
    log = RequestLog()
    begun = log.begin(GET, connection=1, now=5.0)
    assert "under way" in str(log.all()[0])
    assert not log.wait_until_idle(0.01)
    log.end(Request(begun.number, GET, status=200, started=5.0, ended=6.0))
    assert [each.status for each in log.all()] == [200]
    assert log.wait_until_idle(0.01)


def test_a_cleared_log_goes_on_counting() -> None:
    """A request that was under way when the log was cleared does not come back."""
    log = RequestLog()
    old = log.begin(GET, connection=1, now=0.0)
    log.clear()
    new = log.begin(GET, connection=1, now=1.0)
    log.end(Request(old.number, GET, started=0.0, ended=2.0))
    log.end(Request(new.number, GET, started=1.0, ended=2.0))
    assert [each.number for each in log.all()] == [2]
    assert log.wait_until_idle(0.01)
