"""What a merge costs follows what changed, not what is there."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from largework import grow, is_full_size, merge_hundred, peak_of_a_merge

from omnigraph_testing import Crash

SMALL_ROWS = 100_000
LARGE_ROWS = 10_000_000 if is_full_size() else 1_000_000
MOST_MEMORY = 1024 * 1024 * 1024
AT_MOST = 3.0
SAMPLES = 9


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_hundred_changes(crash: Crash, tmp_path: Path) -> None:
    """In 10 million rows they cost at most 3 times what they cost in 100,000; memory is bounded."""
    sizes = {str(tmp_path / "small"): SMALL_ROWS, str(tmp_path / "large"): LARGE_ROWS}
    for place, rows in sizes.items():
        crash.run(grow, place, rows, deadline=900)
    large = str(tmp_path / "large")
    assert crash.run(peak_of_a_merge, large, LARGE_ROWS, deadline=300).value < MOST_MEMORY
    pairs = [
        [merge_hundred(place, rows, turn) for place, rows in sizes.items()]
        for turn in range(1, SAMPLES + 1)
    ]
    cheap, dear = (statistics.median(each) for each in zip(*pairs, strict=True))
    assert dear <= AT_MOST * cheap, (cheap, dear)
