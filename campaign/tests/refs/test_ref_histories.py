"""Histories of compare-and-swap refs, small enough to be judged by hand."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from campaign.refs import (
    ABSENT,
    RefAction,
    RefAnswer,
    RefCall,
    RefRecorder,
    check_refs,
    read_ref_journals,
)
from omnigraph_testing.errors import InvalidHistory
from omnigraph_testing.histories import AnomalyKind, Outcome

CREATE, REPLACE, DELETE, GET = RefAction


def calls(*given: tuple[RefAction, tuple[int, int], dict[str, object]]) -> list[RefCall]:
    """Make calls T1, T2, … by as many processes."""
    return [
        RefCall(
            number,
            "main",
            action=action,
            process=f"p{number}",
            invoked=times[0],
            completed=times[1],
            **fields,  # type: ignore[arg-type]
        )
        for number, (action, times, fields) in enumerate(given, start=1)
    ]


MADE = (CREATE, (0, 1), {"wrote": "a"})

BAD = {
    "two successors of one write": (
        calls(
            MADE,
            (REPLACE, (2, 9), {"expected": "a", "wrote": "b"}),
            (REPLACE, (2, 9), {"expected": "a", "wrote": "c"}),
        ),
        AnomalyKind.LOST_UPDATE,
    ),
    "two lives at once": (
        calls(MADE, (CREATE, (2, 3), {"wrote": "b"}), (GET, (4, 5), {"found": "a"})),
        AnomalyKind.LOST_UPDATE,
    ),
    "an old write is read": (
        calls(
            MADE, (REPLACE, (2, 3), {"expected": "a", "wrote": "b"}), (GET, (4, 5), {"found": "a"})
        ),
        AnomalyKind.STALE_READ,
    ),
    "a ref that is there is not found": (
        calls(MADE, (GET, (4, 5), {"found": ABSENT})),
        AnomalyKind.STALE_READ,
    ),
    "a write that failed is there": (
        calls(
            MADE,
            (REPLACE, (2, 3), {"expected": "a", "wrote": "b", "outcome": Outcome.FAILED}),
            (GET, (4, 5), {"found": "b"}),
        ),
        AnomalyKind.ABORTED_READ,
    ),
    "a write of nobody": (
        calls(MADE, (GET, (4, 5), {"found": "z"})),
        AnomalyKind.UNEXPLAINED_ELEMENT,
    ),
    "a refusal without reason": (
        calls(
            MADE,
            (
                REPLACE,
                (2, 3),
                {"expected": "a", "wrote": "b", "outcome": Outcome.FAILED, "found": "a"},
            ),
        ),
        AnomalyKind.INTERNAL,
    ),
    "read before it was written": (
        calls((GET, (0, 1), {"found": "a"}), (CREATE, (2, 3), {"wrote": "a"})),
        AnomalyKind.ORDER_VIOLATION,
    ),
    "replaced in a ring": (
        calls(
            (REPLACE, (0, 9), {"expected": "b", "wrote": "a"}),
            (REPLACE, (0, 9), {"expected": "a", "wrote": "b"}),
        ),
        AnomalyKind.CIRCULAR_INFORMATION,
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_calls_are_named(name: str) -> None:
    """What no linearizable ref could have answered is refused under its name, and nothing else."""
    bad, kind = BAD[name]
    report = check_refs(bad)
    assert report.kinds == {kind}, str(report)
    assert "NOT linearizable" in str(report)


LOST = {"outcome": Outcome.UNKNOWN}
GOOD = {
    "three lost replies in a row, and the last is seen": calls(
        MADE,
        (REPLACE, (2, 3), {"expected": "a", "wrote": "b", **LOST}),
        (REPLACE, (4, 5), {"expected": "b", "wrote": "c", **LOST}),
        (REPLACE, (6, 7), {"expected": "c", "wrote": "d", **LOST}),
        (GET, (8, 9), {"found": "d"}),
    ),
    "nothing": [],
    "a life": calls(
        (GET, (0, 1), {"found": ABSENT}),
        (CREATE, (2, 3), {"wrote": "a"}),
        (REPLACE, (4, 5), {"expected": "a", "wrote": "b"}),
        (CREATE, (6, 7), {"wrote": "x", "outcome": Outcome.FAILED, "found": "b"}),
        (DELETE, (8, 9), {"expected": "b"}),
        (GET, (10, 11), {"found": ABSENT}),
        (CREATE, (12, 13), {"wrote": "c"}),
    ),
    "a lost reply that was done": calls(
        MADE,
        (REPLACE, (2, 3), {"expected": "a", "wrote": "b", **LOST}),
        (GET, (4, 5), {"found": "b"}),
    ),
    "a lost reply that was not": calls(
        MADE,
        (REPLACE, (2, 3), {"expected": "a", "wrote": "b", **LOST}),
        (GET, (4, 5), {"found": "a"}),
    ),
    "a lost reply that was done late": calls(
        MADE,
        (REPLACE, (2, 3), {"expected": "a", "wrote": "b", **LOST}),
        (GET, (4, 5), {"found": "a"}),
        (GET, (6, 7), {"found": "b"}),
    ),
    "a lost delete": calls(
        MADE, (DELETE, (2, 3), {"expected": "a", **LOST}), (GET, (4, 5), {"found": ABSENT})
    ),
    "a lost replace and a lost delete of it": calls(
        MADE,
        (REPLACE, (2, 3), {"expected": "a", "wrote": "b", **LOST}),
        (DELETE, (4, 5), {"expected": "b", **LOST}),
        (GET, (6, 7), {"found": ABSENT}),
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_calls_are_accepted(name: str) -> None:
    """What a linearizable ref could have answered is accepted, whatever became of lost replies."""
    report = check_refs(GOOD[name])
    assert report.ok, str(report)


def test_refs_stand_for_themselves() -> None:
    """The same answers are no contradiction when they come from two refs."""
    one, two = calls((CREATE, (0, 1), {"wrote": "a"}), (CREATE, (2, 3), {"wrote": "b"}))
    other = RefCall(2, "other", action=CREATE, process="p2", invoked=2, completed=3, wrote="b")
    assert not check_refs([one, two]).ok
    assert check_refs([one, other]).ok


def test_write_ids_must_differ() -> None:
    """Two writes of one id cannot be told apart: that is no history."""
    with pytest.raises(InvalidHistory, match="share the write id a"):
        check_refs(calls(MADE, (CREATE, (2, 3), {"wrote": "a"})))


@pytest.mark.parametrize(
    "fields",
    [
        {"action": CREATE},
        {"action": REPLACE, "wrote": "a"},
        {"action": GET},
        {"action": GET, "found": "a", "wrote": "b"},
        {"action": CREATE, "wrote": "a", "completed": None},
        {"action": CREATE, "wrote": "a", "completed": -1},
    ],
)
def test_half_a_call_is_refused(fields: dict[str, object]) -> None:
    """A call that does not say what its action needs is no call."""
    with pytest.raises(InvalidHistory):
        RefCall(1, "r", **{"process": "p", "invoked": 0, "completed": 1, **fields})  # type: ignore[arg-type]


def test_calls_are_recorded(tmp_path: Path) -> None:
    """A recorder keeps what was asked and answered; an exception is an unknown outcome, and a torn
    last line is left out.
    """

    def lost() -> RefAnswer:
        msg = "connection reset"
        raise OSError(msg)

    path = tmp_path / "w0.ndjson"
    with RefRecorder(path, "w0") as recorder:
        recorder.call(CREATE, "main", lambda: RefAnswer(Outcome.OK), wrote="a")
        recorder.call(REPLACE, "main", lost, wrote="b", expected="a")
        recorder.call(GET, "main", lambda: RefAnswer(Outcome.OK, "b"))
    path.write_bytes(path.read_bytes() + b'{"event":"inv')
    found = read_ref_journals(tmp_path)
    assert [(call.action, call.outcome) for call in found] == [
        (CREATE, Outcome.OK),
        (REPLACE, Outcome.UNKNOWN),
        (GET, Outcome.OK),
    ]
    assert found[1].note == "OSError: connection reset"
    assert check_refs(found).ok


def test_a_torn_middle_is_refused(tmp_path: Path) -> None:
    """Damage that no kill can cause is an error that names the file."""
    (tmp_path / "w0.ndjson").write_bytes(b"{\n{}\n")
    with pytest.raises(InvalidHistory, match=r"w0\.ndjson"):
        read_ref_journals(tmp_path)


def test_a_hundred_thousand_ref_calls() -> None:
    """100,000 calls to one ref, one chain of writes, are judged in seconds."""
    held, calls = ABSENT, []
    for number in range(100_000):
        fields = {
            "invoked": 10 * number,
            "completed": 10 * number + 14,
            "process": f"p{number % 2}",
        }
        wrote = f"w{number}"
        if number % 2:
            calls.append(RefCall(number, "r", action=RefAction.GET, found=held, **fields))
            continue
        if number % 100 == 0 and held:
            call = RefCall(number, "r", action=RefAction.DELETE, expected=held, **fields)
        elif held:
            call = RefCall(
                number, "r", action=RefAction.REPLACE, expected=held, wrote=wrote, **fields
            )
        else:
            call = RefCall(number, "r", action=RefAction.CREATE, wrote=wrote, **fields)
        held = call.wrote or ABSENT
        calls.append(call)
    began = time.process_time()
    report = check_refs(calls)
    assert report.ok, str(report)[:2_000]
    assert time.process_time() - began < 30
