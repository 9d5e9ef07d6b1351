"""``FaultyRefs`` makes callers wait: what was held or given up happens later, or not at all."""

from __future__ import annotations

import threading

import pytest

from campaign.refs import FaultyRefs
from omnigraph_l1 import JsonRefs
from omnigraph_l1.errors import L1Error, OutcomeUnknown, RefChanged
from omnigraph_testing import Delay, Rule


def test_a_hold_forces_an_order(refs: FaultyRefs) -> None:
    """The replacement that came first is held, the second wins, the first is told that it lost."""
    old = refs.create("old", {"x": 1})
    lost: list[L1Error] = []

    def replace() -> None:
        try:
            refs.replace(old, {"by": "first"})
        except RefChanged as error:
            lost.append(error)

    with refs.hold("REPLACE") as held:
        first = threading.Thread(target=replace)
        first.start()
        held.wait()
        refs.replace(old, {"by": "second"})
    first.join()
    assert len(lost) == 1
    assert [each.value for each in refs.direct.list()] == [{"by": "second"}]


def test_a_write_that_was_given_up_lands_later(refs: FaultyRefs) -> None:
    """Its author is told "unknown" at once, and finds it when it has landed."""
    old = refs.create("old", {"x": 1})
    late = refs.hold("REPLACE", cut=True)
    with pytest.raises(OutcomeUnknown) as caught:
        refs.replace(old, {"x": 2})
    assert not refs.wrote("old", caught.value.write_id)
    late.release()
    assert refs.wait_until_idle()
    assert refs.wrote("old", caught.value.write_id)


def test_a_write_that_was_given_up_and_comes_too_late_changes_nothing(refs: FaultyRefs) -> None:
    """It names what it goes on from, which is no longer there."""
    old = refs.create("old", {"x": 1})
    late = refs.hold("REPLACE", cut=True)
    with pytest.raises(OutcomeUnknown):
        refs.replace(old, {"x": 2})
    newest = refs.replace(old, {"x": 3})
    late.release()
    assert refs.wait_until_idle()
    assert refs.get("old") == newest


def test_a_writer_that_waits_too_long_does_not_know() -> None:
    """A delay beyond the time-out is "unknown"; the write happens all the same."""
    refs = FaultyRefs(JsonRefs.in_memory(), timeout=0.05)
    refs.inject(Rule(Delay(0.2, at="after"), "CREATE"))
    with pytest.raises(OutcomeUnknown) as caught:
        refs.create("new", {})
    assert refs.wait_until_idle()
    assert refs.wrote("new", caught.value.write_id)
