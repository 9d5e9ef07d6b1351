"""Several things at once: all of them, or the error of the first."""

from __future__ import annotations

import threading

import pytest

from omnigraph_spark._jobs.parallel_jobs import run_parallel


def test_all_are_done() -> None:
    """Each comes with what it is of."""
    assert dict(run_parallel(str, range(20))) == {number: str(number) for number in range(20)}


def test_of_two_errors_that_of_the_first_item_is_told() -> None:
    """Whichever came first."""
    second_failed = threading.Event()

    def work(item: str) -> None:
        if item == "first":
            assert second_failed.wait(60)
        else:
            second_failed.set()
        raise ValueError(item)

    with pytest.raises(ValueError, match="first"):
        list(run_parallel(work, ["first", "second"]))
