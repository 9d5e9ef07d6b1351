"""Trying again: only what can help, with pauses, not for ever."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from people import rows

from omnigraph_l1 import Commit, Resolution, Table, retry_conflicts
from omnigraph_l1 import deadlines as retry
from omnigraph_l1.errors import CommitConflict, InvalidRequest, OutcomeUnknown


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock in the place of the real one."""
    made = Clock()
    monkeypatch.setattr(retry, "_sleep", made.sleep)
    monkeypatch.setattr(retry, "_now", lambda: made.now)
    return made


class Contended:
    """An upsert of row a that meets, the first times, an upsert of the same row by another."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.seen: list[int] = []

    def __call__(self, table: Table) -> Commit:
        """Compute, let the other come first, commit."""
        self.seen.append(table.version)
        staged = table.stage_upsert(rows("a", age=9), key="id")
        if len(self.seen) <= self.times:
            table.upsert(rows("a", age=len(self.seen)), key="id")
        return table.commit(staged)


@pytest.fixture
def base(local: Table) -> Table:
    """One row."""
    return local.append(rows("a")).table


def test_a_change_is_computed_again_until_it_lands(base: Table, clock: Clock) -> None:
    """Each time on the newest version, so that nothing of the others is lost."""
    change = Contended(3)
    done = retry_conflicts(base, change)
    assert change.seen == [2, 3, 4, 5]
    assert (done.base_version, done.follows_base) == (5, True)
    assert done.table.read()["age"].to_pylist() == [9]
    assert len(clock.pauses) == 3


def test_what_lands_at_once_costs_nothing(base: Table, clock: Clock) -> None:
    """No pause, and the handle that was given."""
    change = Contended(0)
    retry_conflicts(base, change)
    assert change.seen == [base.version]
    assert clock.pauses == []


def test_pauses_grow_by_chance_and_have_a_bound(base: Table, clock: Clock) -> None:
    """Each is between half of its longest and that, which doubles up to half a second."""
    with pytest.raises(CommitConflict) as caught:
        retry_conflicts(base, _always, attempts=12)
    longest = [min(0.005 * 2**number, 0.5) for number in range(11)]
    assert len(clock.pauses) == 11
    assert all(top / 2 <= one <= top for one, top in zip(clock.pauses, longest, strict=True))
    assert len({one / top for one, top in zip(clock.pauses, longest, strict=True)}) > 5
    assert caught.value.attempts == 12
    assert "It was tried 12 times." in str(caught.value)


def test_it_ends_when_the_time_is_up(base: Table, clock: Clock) -> None:
    """It does not sleep beyond it either."""
    with pytest.raises(CommitConflict) as caught:
        retry_conflicts(base, _always, within=2.0)
    assert clock.now <= 2.0
    assert clock.now > 1.0
    assert caught.value.attempts == len(clock.pauses) + 1


def test_no_time_is_one_attempt(base: Table, clock: Clock) -> None:
    """Zero seconds, or one attempt."""
    for bound in ({"within": 0}, {"attempts": 1}):
        with pytest.raises(CommitConflict) as caught:
            retry_conflicts(base, _always, **bound)  # type: ignore[arg-type]
        assert caught.value.attempts == 1
    assert clock.pauses == []


def test_the_incompatible_is_never_tried_again(base: Table, clock: Clock) -> None:
    """An append over an overwrite: the caller decides whether the rows are still wanted."""
    seen = []

    def change(table: Table) -> Commit:
        seen.append(table.version)
        staged = table.stage_append(rows("b"))
        table.overwrite(rows("o"))
        return table.commit(staged)

    with pytest.raises(CommitConflict) as caught:
        retry_conflicts(base, change)
    assert caught.value.resolution is Resolution.INCOMPATIBLE
    assert (len(seen), clock.pauses) == (1, [])


@pytest.mark.parametrize(
    "error",
    [
        OutcomeUnknown(location="p", write_id="w", detail="silence"),
        InvalidRequest(location="p", reason="no"),
        ValueError("the caller's own"),
    ],
)
def test_what_is_no_conflict_is_told_at_once(base: Table, clock: Clock, error: Exception) -> None:
    """Above all an unknown outcome: the change may have happened."""
    seen = []

    def change(table: Table) -> None:
        seen.append(table)
        raise error

    with pytest.raises(type(error)) as caught:
        retry_conflicts(base, change)
    assert caught.value is error
    assert (len(seen), clock.pauses) == (1, [])


def test_many_writers_of_one_row_all_land(base: Table) -> None:
    """With real pauses: none is refused for good, and each adds to what it found."""

    def add_one(table: Table) -> Commit:
        age = table.read()["age"].to_pylist()[0]
        return table.upsert(rows("a", age=age + 1), key="id")

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(retry_conflicts, base, add_one) for _ in range(8)]:
            assert done.result().changed
    assert base.refresh().read()["age"].to_pylist() == [9]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"attempts": 0}, "Invalid attempts 0: expected a whole number >= 1"),
        ({"attempts": True}, "Invalid attempts True"),
        ({"within": -1}, "Invalid within -1: expected a number of seconds >= 0"),
        ({"within": float("nan")}, "Invalid within nan"),
        ({"change": 3}, "Invalid change 3: expected a function"),
        ({"table": "people"}, "Invalid table 'people': expected a Table"),
    ],
)
def test_odd_arguments(base: Table, given: dict[str, Any], said: str) -> None:
    """Each is named, before anything is tried."""
    with pytest.raises(InvalidRequest, match=said):
        retry_conflicts(**{"table": base, "change": _always, **given})


def _always(table: Table) -> Commit:
    """Meet another writer of the same row, each time."""
    return Contended(1)(table)
