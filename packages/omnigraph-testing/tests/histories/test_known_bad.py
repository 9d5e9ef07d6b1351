"""Every kind of anomaly, as small as it can be, and the good history next to it."""

from __future__ import annotations

import pytest

from omnigraph_testing.histories import AnomalyKind, History, Outcome, check

from ._build import FAILED, UNKNOWN, at, history

KIND = AnomalyKind

BAD: dict[str, tuple[History, AnomalyKind, tuple[int, ...]]] = {
    "both read nothing, both append": (
        history("x= x+1", "x= x+2", "x=1,2"),
        KIND.LOST_UPDATE,
        (1, 2),
    ),
    "an acknowledged append vanished": (
        history(("x+1", at(0, 1)), ("x+2", at(2, 3)), ("x=2", at(4, 5))),
        KIND.LOST_UPDATE,
        (1, 3),
    ),
    "each misses the other's write on another key": (
        history("x= y+1", "y= x+2"),
        KIND.WRITE_SKEW,
        (1, 2),
    ),
    "a failed append was read": (history(("x+1", FAILED), "x=1"), KIND.ABORTED_READ, (2, 1)),
    "half of a transaction was read": (
        history("x+1 x+2", "x=1", "x=1,2"),
        KIND.INTERMEDIATE_READ,
        (2, 1),
    ),
    "half of an unknown transaction was read": (
        history(("x+1 x+2", UNKNOWN), "x=1"),
        KIND.INTERMEDIATE_READ,
        (2, 1),
    ),
    "rows appeared between two reads": (history("x+1", "x= x=1"), KIND.PHANTOM, (2,)),
    "rows vanished between two reads": (history("x+1", "x=1 x="), KIND.INTERNAL, (2,)),
    "own append not seen": (history("x+1 x="), KIND.INTERNAL, (1,)),
    "own append seen before it was made": (history("x=1 x+1"), KIND.INTERNAL, (1,)),
    "own append made twice": (history("x+1 x=1,1"), KIND.INTERNAL, (1,)),
    "an append took effect twice": (history("x+1", "x=1,1"), KIND.DUPLICATE_ELEMENT, (2,)),
    "two reads that cannot have grown into each other": (
        history("x+1", "x+2", "x=1", "x=2"),
        KIND.INCOMPATIBLE_ORDER,
        (4, 3),
    ),
    "appends of one transaction in another order": (
        history("x+1 x+2", "x=2,1"),
        KIND.INCOMPATIBLE_ORDER,
        (1, 2),
    ),
    "an element from nowhere": (history("x=7"), KIND.UNEXPLAINED_ELEMENT, (1,)),
    "writes in opposite orders": (
        history("x+1 y+2", "x+3 y+4", "x=1,3", "y=4,2"),
        KIND.DIRTY_WRITE,
        (1, 2),
    ),
    "each read the other's write": (
        history("x+1 y=2", "y+2 x=1"),
        KIND.CIRCULAR_INFORMATION,
        (1, 2),
    ),
    "one write of a transaction seen, the other not": (
        history("x+1 y+2", "x=1 y="),
        KIND.READ_SKEW,
        (1, 2),
    ),
    "an acknowledged append not read later": (
        history(("x+1", at(0, 1)), ("x=", at(2, 3)), ("x=1", at(2, 3))),
        KIND.STALE_READ,
        (1, 2),
    ),
    "what was seen is not seen any more": (
        history(("x+1", UNKNOWN), ("x=1", at(0, 1)), ("x=", at(2, 3))),
        KIND.STALE_READ,
        (1, 2, 3),
    ),
    "read before it was sent": (
        history(("x=1", at(0, 1)), ("x+1", at(2, 3))),
        KIND.ORDER_VIOLATION,
        (1, 2),
    ),
    "written after, ordered before": (
        history(("x+1", at(0, 1)), ("x+2", at(2, 3)), "x=2,1"),
        KIND.ORDER_VIOLATION,
        (1, 2),
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_history_is_named(name: str) -> None:
    """A bad history is refused, the anomaly has its name, and its transactions are named."""
    bad, kind, ids = BAD[name]
    report = check(bad)
    assert not report.ok
    assert kind in report.kinds, str(report)
    assert [set(one.ids) for one in report.anomalies if one.kind is kind] == [set(ids)], str(report)


@pytest.mark.parametrize("name", BAD)
def test_every_anomaly_is_told_once(name: str) -> None:
    """No second anomaly says in other words what the first one said."""
    bad, kind, ids = BAD[name]
    twice = [
        one for one in check(bad).anomalies if one.kind is not kind and set(one.ids) == set(ids)
    ]
    assert not twice


GOOD: dict[str, History] = {
    "nothing": history(),
    "one after the other": history("x= x+1", "x=1 x+2", "x=1,2"),
    "own appends": history("x+1 x=1 y+2 x+3 x=1,3", "x=1,3 y=2"),
    "an unknown append that was seen": history(("x+1", UNKNOWN), "x=1"),
    "an unknown append that was not": history(("x+1", UNKNOWN), "x="),
    "an unknown append that came late": history(
        ("x+1", at(0, 1, outcome=Outcome.UNKNOWN, process="p")), ("x=", at(2, 3)), ("x=1", at(4, 5))
    ),
    "unread appends": history("x+1", "x+2", "y+3 x+4"),
    "reads that overlap an append": history("x+1", "x=", "x=1"),
    "a failed append that was not seen": history(("x+1", FAILED), "x="),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_history_is_accepted(name: str) -> None:
    """What a serial store could have shown is not called an anomaly."""
    report = check(GOOD[name])
    assert report.ok, str(report)


def test_real_time_is_an_option() -> None:
    """A stale read is serializable, only not strictly."""
    stale = history(("x+1", at(0, 1)), ("x=", at(2, 3)), ("x=1", at(4, 5)))
    assert not check(stale).ok
    assert check(stale, real_time=False).ok


def test_sessions_are_an_option() -> None:
    """A process that does not see its own write breaks sessions, not serializability."""
    forgetful = history(
        ("x+1", at(0, 1, process="p")), ("x=", at(2, 3, process="p")), ("x=1", at(2, 3))
    )
    assert check(forgetful, real_time=False).kinds == {KIND.STALE_READ}
    assert check(forgetful, real_time=False, sessions=False).ok


def test_unknown_has_no_end() -> None:
    """What was given up may still land after the next act of its process."""
    late = history(
        ("x+1", at(0, 1, process="p", outcome=Outcome.UNKNOWN)),
        ("x=", at(2, 3, process="p")),
        ("x=1", at(4, 5, process="p")),
    )
    assert check(late).ok, str(check(late))


def test_unknown_has_a_beginning() -> None:
    """It cannot have been seen before it was sent."""
    early = history(("x=1", at(0, 1)), ("x+1", at(2, 3, outcome=Outcome.UNKNOWN)))
    assert check(early).kinds == {KIND.ORDER_VIOLATION}


def test_unknown_that_was_seen_is_held_to_all_of_it() -> None:
    """If one append of a lost reply was seen, its others must be there, too."""
    half = history(("x+1 y+2", UNKNOWN), "x=1 y=")
    assert check(half).kinds == {KIND.READ_SKEW}
