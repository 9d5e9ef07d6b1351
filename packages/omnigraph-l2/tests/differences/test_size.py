"""What a diff costs follows what changed, not what is there."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest
from differing import LARGE, THING, compare, grow

from omnigraph_l2 import Repository
from omnigraph_testing import Crash, FaultyS3

SMALL_ROWS = 100_000
LARGE_ROWS = 10_000_000
MOST_MEMORY = 1024 * 1024 * 1024
AT_MOST = 3.0
SAMPLES = 11
MOST_REQUESTS = 40


def seconds(repo: Repository) -> float:
    """Measure counting and reading what differs."""
    started = time.perf_counter()
    diff = repo.diff("before", "main")
    assert diff.tables[THING].inserted == 30
    assert diff.rows(THING).read_all().num_rows == 100
    return time.perf_counter() - started


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_hundred_changes(omnigraph_crash: Crash, tmp_path: Path) -> None:
    """In 10 million rows they cost at most 3 times what they cost in 100,000; memory is bounded."""
    places = [str(tmp_path / name) for name in ("small", "large")]
    for location, rows in zip(places, (SMALL_ROWS, LARGE_ROWS), strict=True):
        omnigraph_crash.run(grow, location, rows, deadline=900)
    counts, memory = omnigraph_crash.run(compare, places[1], deadline=300).value
    assert counts == (30, 40, 30)
    assert memory < MOST_MEMORY
    with Repository.open(places[0]) as small, Repository.open(places[1]) as large:
        pairs = [(seconds(small), seconds(large)) for _ in range(SAMPLES)]
    cheap, dear = (statistics.median(each) for each in zip(*pairs, strict=True))
    assert dear <= AT_MOST * cheap, (cheap, dear)


def test_requests(faulty_s3: FaultyS3) -> None:
    """Ten rows more do not cost more requests, and what did not change costs none."""
    uri, options = faulty_s3.uri("repo"), faulty_s3.storage_options
    with Repository.init(uri, LARGE, options) as repo:
        costs = []
        for rows in (10, 1_000):
            with repo.transaction() as tx:
                tx.append(THING, [{"id": f"{rows} {number}"} for number in range(rows)])
            before = repo.snapshot()
            with repo.transaction() as tx:
                tx.upsert(THING, [{"id": f"{rows} 0", "number": 1}])
                tx.delete(THING, ids=[f"{rows} 1"])
            after = repo.snapshot()
            asked = len(faulty_s3.requests)
            assert repo.diff(before, before).is_empty
            assert len(faulty_s3.requests) == asked
            diff = repo.diff(before, after)
            assert (diff.tables[THING].updated, diff.tables[THING].deleted) == (1, 1)
            costs.append(len(faulty_s3.requests) - asked)
    assert costs[1] <= costs[0] + 2, costs
    assert max(costs) <= MOST_REQUESTS, costs
