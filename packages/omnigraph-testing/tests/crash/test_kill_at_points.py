"""Killed at a named point: what came before is done, and nothing that comes after."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from omnigraph_l1.failpoints import declare, failpoint
from omnigraph_testing import (
    AtPoint,
    Crash,
    CrashDeadline,
    InvalidOption,
    NeverKilled,
    UnexpectedEnding,
    mark,
)

WRITTEN = declare("test.points.written", "a line was written")
COUNTED = declare("test.points.counted", "the line was counted")
ELSEWHERE = declare("test.points.elsewhere", "never reached")


def write_lines(place: Path, lines: int = 3) -> int:
    """Write lines one by one."""
    for number in range(1, lines + 1):
        with (place / "lines").open("a") as file:
            file.write(f"{number}\n")
        failpoint(WRITTEN)
        mark(f"line {number}")
        failpoint(COUNTED)
    return lines


def pass_undeclared() -> None:
    """Pass a point that has a typo in it."""
    failpoint("test.points.wirtten")


def fail_late(text: str) -> None:
    """Pass a point, then raise."""
    failpoint(WRITTEN)
    raise LookupError(text)


def lines_in(place: Path) -> list[str]:
    """Read what ``write_lines`` left."""
    return (place / "lines").read_text().split()


@pytest.mark.parametrize("hit", [1, 3])
def test_it_is_killed_at_the_very_point(omnigraph_crash: Crash, tmp_path: Path, hit: int) -> None:
    """At the n-th hit of a point, what came before is done and nothing that comes after."""
    outcome = omnigraph_crash.run(write_lines, tmp_path, kill=AtPoint(WRITTEN, hit=hit))
    assert outcome.killed
    assert outcome.exit_status == -signal.SIGKILL
    assert outcome.passed == (WRITTEN, COUNTED) * (hit - 1) + (WRITTEN,)
    assert outcome.marks == tuple(f"line {number}" for number in range(1, hit))
    assert lines_in(tmp_path) == [str(number) for number in range(1, hit + 1)]
    assert outcome.value is None


def test_points_are_those_of_an_undisturbed_run(omnigraph_crash: Crash, tmp_path: Path) -> None:
    """All points are listed in order, each as often as it is passed, and nothing is killed."""
    assert omnigraph_crash.points(write_lines, tmp_path, lines=2) == (WRITTEN, COUNTED) * 2
    assert lines_in(tmp_path) == ["1", "2"]


def test_points_of_a_run_that_fails_are_not_given(omnigraph_crash: Crash) -> None:
    """A function that raises has no undisturbed run; the error has its traceback."""
    with pytest.raises(UnexpectedEnding, match="LookupError: oh"):
        omnigraph_crash.points(fail_late, "oh")


def test_a_point_that_is_never_reached_is_an_error(omnigraph_crash: Crash, tmp_path: Path) -> None:
    """A test that kills nowhere must not pass; it is told what was passed instead."""
    with pytest.raises(NeverKilled, match="finished") as caught:
        omnigraph_crash.run(write_lines, tmp_path, 1, kill=AtPoint(ELSEWHERE))
    assert caught.value.passed == (WRITTEN, COUNTED)
    assert "declares" not in str(caught.value)
    with pytest.raises(NeverKilled, match="hit 4"):
        omnigraph_crash.run(write_lines, tmp_path, 3, kill=AtPoint(WRITTEN, hit=4))


def test_a_misspelt_point_to_kill_at_is_said_to_be_one(
    omnigraph_crash: Crash, tmp_path: Path
) -> None:
    """The error lists the names that are declared where the wanted one is not."""
    with pytest.raises(NeverKilled, match=r"no module .* declares .*test\.points\.written"):
        omnigraph_crash.run(write_lines, tmp_path, kill=AtPoint("test.points.wirtten"))


def test_a_misspelt_point_in_the_code_fails(omnigraph_crash: Crash) -> None:
    """Code that passes an undeclared point raises in any run of the harness."""
    assert omnigraph_crash.run(pass_undeclared).error_type == "FailpointMisuse"


def test_everywhere_kills_once_at_each_point(omnigraph_crash: Crash) -> None:
    """Each run has a fresh directory and dies one point later than the one before."""
    found = [
        (crashed.outcome.passed, lines_in(crashed.directory))
        for crashed in omnigraph_crash.everywhere(write_lines, prepare=lambda place: (place, 2))
    ]
    all_points = (WRITTEN, COUNTED) * 2
    lines = [["1"], ["1"], ["1", "2"], ["1", "2"]]
    assert found == [(all_points[: count + 1], lines[count]) for count in range(4)]


def test_a_sample_of_everywhere_is_repeatable(omnigraph_crash: Crash) -> None:
    """The same seed chooses the same places; ``limit`` bounds how many."""

    def places(seed: int) -> list[str]:
        kills = omnigraph_crash.everywhere(write_lines, limit=1, seed=seed)
        return [str(each.kill) for each in kills]

    first = places(3)
    assert len(first) == 1
    assert places(3) == first


def test_a_count_from_zero_is_refused() -> None:
    """Hits are counted from one."""
    with pytest.raises(InvalidOption, match="from 1"):
        AtPoint(WRITTEN, hit=0)


def test_a_hang_names_the_last_point() -> None:
    """A run that does not end in time says how far it came."""
    late = CrashDeadline(what="job", seconds=2.0, passed=(WRITTEN, COUNTED), stderr="")
    assert f"the last point it passed: {COUNTED}." in str(late)
