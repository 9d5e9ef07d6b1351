"""A handle that lives long does not grow with what went by."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from fleet import scaled

from omnigraph_l2 import GraphSchema, NodeType, Repository
from omnigraph_testing import Crash

_WARM = 300
_UPKEEP = 250
_CACHES = (16 + 4) * 1024 * 1024
"""What Lance's metadata and known ids may take for themselves, as they are set for everybody."""
_MOST_GROWTH = _CACHES + 40 * 1024 * 1024


def grow(uri: str, publishes: int) -> int:
    """Publish often with one handle; give how much memory came on top once it was warm.

    The table is looked after meanwhile: else its parts grow in number, and they are data.
    """
    schema = GraphSchema(nodes=[NodeType("T", {"value": pa.int64()})])
    with Repository.init(uri, schema, durability="none") as repository:
        for turn in range(_WARM + publishes):
            if turn == _WARM:
                before = _resident()
            if turn % _UPKEEP == 0:
                repository.optimize()
            with repository.transaction() as tx:
                tx.append("node:T", [{"id": str(turn), "value": turn}])
        return _resident() - before


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_memory_of_a_handle_that_publishes(omnigraph_crash: Crash, tmp_path: Path) -> None:
    """Caches are bounded, and what is superseded is let go of."""
    outcome = omnigraph_crash.run(grow, str(tmp_path / "repo"), scaled(7_000), deadline=900)
    assert outcome.value < _MOST_GROWTH
