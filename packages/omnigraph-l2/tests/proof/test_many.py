"""Cost does not grow with what is not touched: other tables, and other branches."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from fleet import Location, scaled, tables
from untimed_requests import untimed

from omnigraph_l2 import Repository
from omnigraph_testing import FaultyS3

_FEW_TABLES, _MANY_TABLES = 10, scaled(1_000)
_MANY_BRANCHES = scaled(100)
_AT_MOST = 2.0
_SECONDS_FOR_EACH_LISTED = 50e-6
_LARGER_CATALOG = 6
"""So many requests more read the catalog as a whole, twice, where its file is too large for one."""
_SAMPLES = 20
_A_WHOLE_ROUND = 16
"""In so many publishes the log is completed, and the catalog compacted twice."""
_SOME = 5
_NUMBERS = count()


def _made(location: Location, types: int, branches: int) -> Repository:
    """Make a repository with so many tables, and so many branches, main among them."""
    repository = location.make(tables(types))
    for number in range(branches - 1):
        repository.branches.create(f"branch-{number}")
    return repository


def _publish(repository: Repository) -> None:
    with repository.transaction() as tx:
        tx.append("node:T0", [{"id": f"row-{next(_NUMBERS)}", "value": 1}])


def _create(repository: Repository) -> None:
    repository.branches.create(f"new-{next(_NUMBERS)}")


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _drop_new(repository: Repository) -> None:
    for branch in repository.branches.list():
        if branch.name.startswith("new-"):
            repository.branches.delete(branch.name)


def _assert_alike(
    name: str,
    work: Callable[[Repository], object],
    few: Repository,
    many: Repository,
    *,
    besides: float = 0.0,
) -> None:
    """Measure the two in turns, so that whatever else the machine does meets both."""
    pairs = []
    for _ in range(_SAMPLES):
        pairs.append((_seconds(lambda: work(few)), _seconds(lambda: work(many))))
        if work is _create:
            _drop_new(few)
            _drop_new(many)
    less = statistics.median(first for first, _ in pairs)
    more = statistics.median(second for _, second in pairs)
    assert more <= _AT_MOST * less + besides, (name, less, more)


@pytest.mark.slow
@pytest.mark.usefixtures("processes")
def test_many_tables_and_branches(tmp_path: Path) -> None:
    """With 1,000 tables and 100 branches each costs at most twice what it costs with 10 and one.

    A list gives 100 branches instead of one: besides that, each may take some microseconds.
    """
    with (
        _made(Location(str(tmp_path / "few"), None), _FEW_TABLES, 1) as few,
        _made(Location(str(tmp_path / "many"), None), _MANY_TABLES, _MANY_BRANCHES) as many,
    ):
        _assert_alike("creating a branch", _create, few, many)
        _assert_alike("a publish", _publish, few, many)
        _assert_alike("a snapshot", Repository.snapshot, few, many)
        listed = _SECONDS_FOR_EACH_LISTED * _MANY_BRANCHES
        _assert_alike("listing", lambda each: each.branches.list(), few, many, besides=listed)


def _requests(faulty_s3: FaultyS3, work: Callable[[], object]) -> int:
    """Count what is asked of the store, but for what goes by the clock.

    The newest catalog is looked for every two seconds, too.
    """
    faulty_s3.forget_requests()
    work()
    return sum(
        (request.method, request.key.endswith("/__manifest/_versions/")) != ("LIST", True)
        for request in untimed(faulty_s3.requests)
    )


def test_the_number_of_requests_stays(faulty_s3: FaultyS3) -> None:
    """It is the same with many tables and branches as with few, upkeep included.

    Only who lists branches for the first time reads the pointer of each, once.
    """
    options = faulty_s3.storage_options

    def costs(name: str, types: int, branches: int) -> tuple[dict[str, list[int]], int]:
        location = Location(faulty_s3.uri(name), options)

        def opened(work: Callable[[Repository], object]) -> None:
            with location.open() as repository:
                work(repository)

        with _made(location, types, branches) as repository:
            opened(_publish)  # who does so first in a process tries out the store
            repository.snapshot()
            listed_first = _requests(faulty_s3, repository.branches.list)
            works: dict[str, tuple[Callable[[], object], int]] = {
                "list": (repository.branches.list, _SOME),
                "snapshot": (repository.snapshot, _SOME),
                "publish": (lambda: _publish(repository), _A_WHOLE_ROUND),
                "publish, freshly opened": (lambda: opened(_publish), _A_WHOLE_ROUND),
                "snapshot, freshly opened": (lambda: opened(Repository.snapshot), _SOME),
                "create": (lambda: _create(repository), _SOME),
            }
            counted = {
                what: [_requests(faulty_s3, work) for _ in range(times)]
                for what, (work, times) in works.items()
            }
        return counted, listed_first

    few, first_of_few = costs("few", _FEW_TABLES, 1)
    many, first_of_many = costs("many", _MANY_TABLES, _MANY_BRANCHES)
    for what, costs_of_few in few.items():
        assert statistics.median(many[what]) == statistics.median(costs_of_few), what
        more = [large - small for small, large in zip(costs_of_few, many[what], strict=True)]
        assert max(more) <= _LARGER_CATALOG, (what, more)
    assert many["list"] == few["list"]
    assert first_of_many <= first_of_few + _MANY_BRANCHES - 1
