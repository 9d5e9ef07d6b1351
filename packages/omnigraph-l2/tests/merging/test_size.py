"""What a merge costs follows what changed, not what is there."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from largework import change, grow, merge, merge_hundred, peak_of_a_merge

from omnigraph_l2 import Repository
from omnigraph_testing import Crash, FaultyS3

SMALL_ROWS = 100_000
LARGE_ROWS = 10_000_000
MOST_MEMORY = 1024 * 1024 * 1024
AT_MOST = 3.0
SAMPLES = 9
CHANGED = 20
MOST_BYTES_READ = 2 * 1024 * 1024
"""A quarter of the larger table with its index."""


def test_twenty_changes(faulty_s3: FaultyS3) -> None:
    """In 300,000 rows they write as much as in 2,000, and read no more than what was changed.

    A small table is read in one request, a large one in some for each row that changed.
    """
    options = faulty_s3.storage_options
    requests, written, read = [], [], []
    for rows in (2_000, 300_000):
        uri = faulty_s3.uri(str(rows))
        grow(uri, rows, options)
        with Repository.open(uri, options) as repo:
            name = change(repo, rows, CHANGED, turn=0)
            faulty_s3.forget_requests()
            merge(repo, name, CHANGED)
            counted = [each for each in faulty_s3.requests if "/_refs/leases/" not in each.key]
        requests.append(len(counted))
        written.append(sum(each.bytes_in for each in counted))
        read.append(sum(each.bytes_out for each in counted))
    assert requests[1] <= requests[0] + 2 * 2 * CHANGED, requests
    assert written[1] <= 1.01 * written[0], written
    assert read[1] <= MOST_BYTES_READ, read


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_hundred_changes(omnigraph_crash: Crash, tmp_path: Path) -> None:
    """In 10 million rows they cost at most 3 times what they cost in 100,000; memory is bounded."""
    sizes = {str(tmp_path / "small"): SMALL_ROWS, str(tmp_path / "large"): LARGE_ROWS}
    for location, rows in sizes.items():
        omnigraph_crash.run(grow, location, rows, deadline=900)
    large = str(tmp_path / "large")
    assert omnigraph_crash.run(peak_of_a_merge, large, LARGE_ROWS, deadline=300).value < MOST_MEMORY
    pairs = [
        [merge_hundred(location, rows, turn) for location, rows in sizes.items()]
        for turn in range(1, SAMPLES + 1)
    ]
    cheap, dear = (statistics.median(each) for each in zip(*pairs, strict=True))
    assert dear <= AT_MOST * cheap, (cheap, dear)
